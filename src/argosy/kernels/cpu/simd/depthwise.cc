// Convolutions of single channels with packed weights. Compiled once per instruction set.
#include <type_traits>

#include "argosy/kernels/cpu/simd/packed.h"
#include "argosy/kernels/cpu/simd/panel.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// Columns [begin, end) of the kernel meet the image.
struct Reach {
  int64_t begin, end;
};

template <class X>
Reach reach_of(const DepthwiseRowOf<X>& p, int64_t pixel) {
  const int64_t first = pixel * p.stride - p.pad;
  Reach r{0, p.kernel_width};
  while (r.begin < r.end && first + r.begin * p.dilation < 0) ++r.begin;
  while (r.begin < r.end && first + (r.end - 1) * p.dilation >= p.in_width) --r.end;
  return r;
}

// A vector of codes, or `n` of them and zeros, as numbers.
template <bool kPart>
ARGOSY_INLINE Vec load_codes(const uint8_t* at, int64_t n) {
  __m128i codes = _mm_setzero_si128();
  if constexpr (kPart)
    __builtin_memcpy(&codes, at, static_cast<size_t>(n));
  else
    __builtin_memcpy(&codes, at, Vec::kLanes);
#ifdef __AVX512F__
  return {_mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu8_epi32(0xffff, codes))};
#else
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes))};
#endif
}

// kP pixels by kC vectors of channels from c on; only `n` channels of one vector if kPart.
template <int kP, int kC, bool kPart, class X>
ARGOSY_INLINE void block(const DepthwiseRowOf<X>& p, int64_t pixel, const Reach& reach, int64_t c,
                         int64_t n) {
  static_assert(!kPart || kC == 1);
  constexpr bool kCodes = std::is_same_v<X, uint8_t>;
  const Vec::Lanes some = Vec::first(n);
  auto load = [some](const float* at) {
    if constexpr (kPart)
      return Vec::load(at, some);
    else
      return Vec::load(at);
  };
  auto load_x = [&](const X* at) {
    if constexpr (kCodes)
      return load_codes<kPart>(at, n);
    else
      return load(at);
  };
  const PackedEpilogue& e = p.epilogue;
  Vec acc[kP][kC];
  // Of codes, the weights that meet the image: codes stand for themselves less their zero point,
  // which is taken off in the end. All sums are exact, see integer_depthwise_bytes().
  [[maybe_unused]] Vec met[kC];
#pragma GCC unroll 8
  for (int j = 0; j < kC; ++j) met[j] = Vec::zero();
  auto each = [&](auto&& f) {
#pragma GCC unroll 8
    for (int i = 0; i < kP; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kC; ++j) f(acc[i][j], i, j * Vec::kLanes);
  };
  each([&](Vec& a, int, int j) { a = e.bias && !kCodes ? load(e.bias + c + j) : Vec::zero(); });
  const int64_t first = pixel * p.stride - p.pad, next = p.stride * p.channels;
  for (int64_t r = 0; r < p.kernel_rows; ++r) {
    if (!p.rows[r]) continue;
    const float* w = p.weights + (r * p.kernel_width + reach.begin) * p.weights_step + c;
    const X* x = p.rows[r] + (first + reach.begin * p.dilation) * p.channels + c;
    for (int64_t t = reach.begin; t < reach.end; ++t) {
      Vec weight[kC];
#pragma GCC unroll 8
      for (int j = 0; j < kC; ++j) weight[j] = Vec::load(w + j * Vec::kLanes);
      if constexpr (kCodes) {
#pragma GCC unroll 8
        for (int j = 0; j < kC; ++j) met[j] = met[j] + weight[j];
      }
      each([&](Vec& a, int i, int j) {
        a = Vec::fma(load_x(x + i * next + j), weight[j / Vec::kLanes], a);
      });
      w += p.weights_step;
      x += p.dilation * p.channels;
    }
  }
  if constexpr (kCodes) {
    const Vec less = Vec::fill(-static_cast<float>(p.zero));
    each([&](Vec& a, int, int j) {
      a = Vec::fma(less, met[j / Vec::kLanes], a) * load(p.factor + c + j);
    });
    if (e.bias) each([&](Vec& a, int, int j) { a = a + load(e.bias + c + j); });
  }
  const int64_t to = pixel * p.channels + c;
  if (e.residual)
    each([&](Vec& a, int i, int j) { a = a + load(e.residual + to + i * p.channels + j); });
  if (in_registers(e))
    post_in_registers(e, [&](auto&& f) { each([&](Vec& a, int, int) { a = f(a); }); });
  each([&](Vec& a, int i, int j) {
    if constexpr (kPart)
      a.store(p.y + to + i * p.channels, some);
    else
      a.store(p.y + to + i * p.channels + j);
  });
}

// As many sums at a time as it takes to hide how long one addition is.
template <int kP, class X>
void pixels(const DepthwiseRowOf<X>& p, int64_t pixel, const Reach& reach) {
  constexpr int kC = 8 / kP, kStep = kC * Vec::kLanes;
  int64_t c = 0;
  for (; c + kStep <= p.channels; c += kStep) block<kP, kC, false>(p, pixel, reach, c, 0);
  for (; c + Vec::kLanes <= p.channels; c += Vec::kLanes)
    block<kP, 1, false>(p, pixel, reach, c, 0);
  if (c < p.channels) block<kP, 1, true>(p, pixel, reach, c, p.channels - c);
}

template <class X>
void row_of(const DepthwiseRowOf<X>& p) {
  constexpr int kMost = 8;
  const Reach whole{0, p.kernel_width};
  // Pixels [inner, outer) see the whole width of the kernel.
  const int64_t reach = (p.kernel_width - 1) * p.dilation;
  int64_t inner = (p.pad + p.stride - 1) / p.stride;
  int64_t outer =
      p.in_width + p.pad - reach > 0 ? (p.in_width + p.pad - reach - 1) / p.stride + 1 : 0;
  inner = inner < p.out_width ? inner : p.out_width;
  outer = outer < p.out_width ? outer : p.out_width;
  outer = outer < inner ? inner : outer;
  int64_t i = 0;
  for (; i < inner; ++i) pixels<1>(p, i, reach_of(p, i));
  for (; i + kMost <= outer; i += kMost) pixels<kMost>(p, i, whole);
  for (; i + 4 <= outer; i += 4) pixels<4>(p, i, whole);
  for (; i + 2 <= outer; i += 2) pixels<2>(p, i, whole);
  for (; i < outer; ++i) pixels<1>(p, i, whole);
  for (; i < p.out_width; ++i) pixels<1>(p, i, reach_of(p, i));
  if (in_registers(p.epilogue)) return;
  PackedEpilogue post = p.epilogue;
  post.residual = nullptr;  // is in y by now
  finish_elements(post, p.y, p.out_width * p.channels);
}

}  // namespace

void depthwise_row(const DepthwiseRow& p) {
  row_of(p);
}
void depthwise_row(const DepthwiseCodeRow& p) {
  row_of(p);
}

}  // namespace argosy::cpu::ARGOSY_ISA
