#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/integer_tiles.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/packed_conv.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/packed.h"

// Convolutions of single channels: each thread computes rows of the output. Weights are
// [kernel.., channels], channels rounded up to a vector.
namespace argosy::cpu {
namespace {

int64_t weights_step(const ConvShape& s) {
  return (s.out_channels + 15) / 16 * 16;
}

// Rows of a task. Each is computed by itself, so this may depend on the number of threads: some
// tasks of 3 us at least for each of them, as large as each other.
int64_t rows_at_once(const ConvShape& s) {
  constexpr int64_t kLeast = int64_t{1} << 17, kOfThread = 4;  // multiplications; tasks
  const int64_t rows = s.batch * s.out[0], threads = num_threads();
  const int64_t work = rows * s.out[1] * s.out_channels * s.kernel[0] * s.kernel[1];
  const int64_t of_thread = std::clamp<int64_t>(work / (kLeast * threads), 0, kOfThread);
  if (of_thread == 0) return work < 2 * kLeast ? rows : (rows * kLeast + work - 1) / work;
  return (rows + threads * of_thread - 1) / (threads * of_thread);
}

}  // namespace

int64_t depthwise_bytes(const ConvShape& form) {
  return form.kernel[0] * form.kernel[1] * weights_step(form) * static_cast<int64_t>(sizeof(float));
}

void pack_depthwise(const ConvShape& form, const float* w, void* packed) {
  auto* to = static_cast<float*>(packed);
  const int64_t taps = form.kernel[0] * form.kernel[1], step = weights_step(form);
  std::fill_n(to, taps * step, 0.0f);
  for (int64_t c = 0; c < form.out_channels; ++c)
    for (int64_t t = 0; t < taps; ++t) to[t * step + c] = w[c * taps + t];
}

namespace {

// run(p, i) for each row i of the output, of which p says all but where the results go. `p` comes
// with what is said of all rows.
template <class X, class Run>
void each_row(const ConvShape& s, const X* x, const void* packed, const PackedEpilogue& epilogue,
              const DepthwiseRowOf<X>& given, Run&& run) {
  const int64_t in_row = s.in[1] * s.in_channels, out_row = s.out[1] * s.out_channels;
  parallel_for(s.batch * s.out[0], rows_at_once(s), [&](int64_t begin, int64_t end) {
    constexpr size_t kFew = 16;
    std::array<const X*, kFew> few;
    std::vector<const X*> many;
    const X** rows = few.data();
    if (s.kernel[0] > static_cast<int64_t>(kFew)) {
      many.resize(static_cast<size_t>(s.kernel[0]));
      rows = many.data();
    }
    DepthwiseRowOf<X> p = given;
    p.channels = s.in_channels;
    p.in_width = s.in[1];
    p.out_width = s.out[1];
    p.kernel_rows = s.kernel[0];
    p.kernel_width = s.kernel[1];
    p.stride = s.stride[1];
    p.dilation = s.dilation[1];
    p.pad = s.pad[1];
    p.rows = rows;
    p.weights = static_cast<const float*>(packed);
    p.weights_step = weights_step(s);
    p.epilogue = epilogue;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / s.out[0], first = i % s.out[0] * s.stride[0] - s.pad[0];
      for (int64_t r = 0; r < s.kernel[0]; ++r) {
        const int64_t row = first + r * s.dilation[0];
        rows[r] = row >= 0 && row < s.in[0] ? x + (image * s.in[0] + row) * in_row : nullptr;
      }
      if (epilogue.residual) p.epilogue.residual = epilogue.residual + i * out_row;
      run(p, i);
    }
  });
}

template <class X>
void compute(const DepthwiseRowOf<X>& p) {
  isa() == Isa::avx512 ? avx512::depthwise_row(p) : avx2::depthwise_row(p);
}

}  // namespace

void depthwise(const ConvShape&, const ConvShape& s, const float* x, const void* packed,
               const PackedEpilogue& epilogue, float* y) {
  const int64_t out_row = s.out[1] * s.out_channels;
  each_row(s, x, packed, epilogue, DepthwiseRow{}, [&](DepthwiseRow& p, int64_t i) {
    p.y = y + i * out_row;
    compute(p);
  });
}

// --- of codes ---

int64_t integer_depthwise_bytes(int64_t channels, int64_t taps) {
  // Sums of so many products of 2^7 and 2^8 are exact in float32.
  constexpr int64_t kMostTaps = int64_t{1} << 9;
  if (integer_linear_bytes(1, 1) == 0 || channels <= 0 || taps <= 0 || taps > kMostTaps) return 0;
  ConvShape s;
  s.dims = 2;
  s.in_channels = s.out_channels = s.groups = channels;
  s.kernel[0] = taps;
  s.kernel[1] = 1;
  return depthwise_bytes(s);
}

void pack_integer_depthwise(int64_t channels, int64_t taps, const int8_t* w, void* packed) {
  auto* to = static_cast<float*>(packed);
  const int64_t step = (channels + 15) / 16 * 16;
  std::fill_n(to, taps * step, 0.0f);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t t = 0; t < taps; ++t) to[t * step + c] = w[c * taps + t];
}

void integer_depthwise(const ConvShape& s, const Codes& x, const void* packed, const float* factor,
                       const PackedEpilogue& epilogue, const CodeResult& y) {
  const int64_t out_row = s.out[1] * s.out_channels;
  DepthwiseCodeRow given{};
  given.zero = x.zero + (x.is_signed ? 128 : 0);
  given.factor = factor;
  const auto* codes = static_cast<const uint8_t*>(x.at);
  std::optional<Scratch> flipped;
  if (x.is_signed) {
    const int64_t n = s.batch * s.in[0] * s.in[1] * s.in_channels;
    flipped.emplace(static_cast<size_t>(n));
    auto* const to = flipped->as<uint8_t>();
    parallel_for(n, 1 << 18, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = codes[i] ^ 0x80;
    });
    codes = to;
  }
  if (!y.codes) {
    each_row(s, codes, packed, epilogue, given, [&](DepthwiseCodeRow& p, int64_t i) {
      p.y = static_cast<float*>(y.at) + i * out_row;
      compute(p);
    });
    return;
  }
  each_row(s, codes, packed, epilogue, given, [&](DepthwiseCodeRow& p, int64_t i) {
    const Scratch numbers(static_cast<size_t>(out_row) * sizeof(float));
    p.y = numbers.as<float>();
    compute(p);
    store_codes(p.y, y, static_cast<uint8_t*>(y.at) + i * out_row, out_row);
  });
}

}  // namespace argosy::cpu
