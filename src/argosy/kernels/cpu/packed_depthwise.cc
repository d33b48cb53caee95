#include <algorithm>
#include <array>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/packed_conv.h"
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

void depthwise(const ConvShape&, const ConvShape& s, const float* x, const void* packed,
               const PackedEpilogue& epilogue, float* y) {
  const bool wide = isa() == Isa::avx512;
  void (*const row_of)(const DepthwiseRow&) = wide ? avx512::depthwise_row : avx2::depthwise_row;
  const int64_t in_row = s.in[1] * s.in_channels, out_row = s.out[1] * s.out_channels;
  parallel_for(s.batch * s.out[0], rows_at_once(s), [&](int64_t begin, int64_t end) {
    constexpr size_t kFew = 16;
    std::array<const float*, kFew> few;
    std::vector<const float*> many;
    const float** rows = few.data();
    if (s.kernel[0] > static_cast<int64_t>(kFew)) {
      many.resize(static_cast<size_t>(s.kernel[0]));
      rows = many.data();
    }
    DepthwiseRow p{};
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
      p.y = y + i * out_row;
      row_of(p);
    }
  });
}

}  // namespace argosy::cpu
