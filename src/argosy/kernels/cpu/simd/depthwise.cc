// Convolutions of single channels with packed weights. Compiled once per instruction set.
#include "argosy/kernels/cpu/simd/packed.h"
#include "argosy/kernels/cpu/simd/panel.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// Columns [begin, end) of the kernel meet the image.
struct Reach {
  int64_t begin, end;
};

Reach reach_of(const DepthwiseRow& p, int64_t pixel) {
  const int64_t first = pixel * p.stride - p.pad;
  Reach r{0, p.kernel_width};
  while (r.begin < r.end && first + r.begin * p.dilation < 0) ++r.begin;
  while (r.begin < r.end && first + (r.end - 1) * p.dilation >= p.in_width) --r.end;
  return r;
}

// kP pixels by kC vectors of channels from c on; only `n` channels of one vector if kPart.
template <int kP, int kC, bool kPart>
ARGOSY_INLINE void block(const DepthwiseRow& p, int64_t pixel, const Reach& reach, int64_t c,
                         int64_t n) {
  static_assert(!kPart || kC == 1);
  const Vec::Lanes some = Vec::first(n);
  auto load = [some](const float* at) {
    if constexpr (kPart)
      return Vec::load(at, some);
    else
      return Vec::load(at);
  };
  const PackedEpilogue& e = p.epilogue;
  Vec acc[kP][kC];
  auto each = [&](auto&& f) {
#pragma GCC unroll 8
    for (int i = 0; i < kP; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kC; ++j) f(acc[i][j], i, j * Vec::kLanes);
  };
  each([&](Vec& a, int, int j) { a = e.bias ? load(e.bias + c + j) : Vec::zero(); });
  const int64_t first = pixel * p.stride - p.pad, next = p.stride * p.channels;
  for (int64_t r = 0; r < p.kernel_rows; ++r) {
    if (!p.rows[r]) continue;
    const float* w = p.weights + (r * p.kernel_width + reach.begin) * p.weights_step + c;
    const float* x = p.rows[r] + (first + reach.begin * p.dilation) * p.channels + c;
    for (int64_t t = reach.begin; t < reach.end; ++t) {
      Vec weight[kC];
#pragma GCC unroll 8
      for (int j = 0; j < kC; ++j) weight[j] = Vec::load(w + j * Vec::kLanes);
      each([&](Vec& a, int i, int j) {
        a = Vec::fma(load(x + i * next + j), weight[j / Vec::kLanes], a);
      });
      w += p.weights_step;
      x += p.dilation * p.channels;
    }
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
template <int kP>
void pixels(const DepthwiseRow& p, int64_t pixel, const Reach& reach) {
  constexpr int kC = 8 / kP, kStep = kC * Vec::kLanes;
  int64_t c = 0;
  for (; c + kStep <= p.channels; c += kStep) block<kP, kC, false>(p, pixel, reach, c, 0);
  for (; c + Vec::kLanes <= p.channels; c += Vec::kLanes)
    block<kP, 1, false>(p, pixel, reach, c, 0);
  if (c < p.channels) block<kP, 1, true>(p, pixel, reach, c, p.channels - c);
}

}  // namespace

void depthwise_row(const DepthwiseRow& p) {
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

}  // namespace argosy::cpu::ARGOSY_ISA
