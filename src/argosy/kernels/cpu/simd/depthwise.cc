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

// kP pixels by one vector of channels from c on, `n` of which there are if kPart.
template <int kP, bool kPart>
ARGOSY_INLINE void block(const DepthwiseRow& p, int64_t pixel, const Reach& reach, int64_t c,
                         int64_t n) {
  auto load = [n](const float* at) {
    if constexpr (kPart)
      return Vec::load(at, n);
    else
      return Vec::load(at);
  };
  const PackedEpilogue& e = p.epilogue;
  const Vec start = e.bias ? load(e.bias + c) : Vec::zero();
  Vec acc[kP];
#pragma GCC unroll 8
  for (int i = 0; i < kP; ++i) acc[i] = start;
  const int64_t first = pixel * p.stride - p.pad, next = p.stride * p.channels;
  for (int64_t r = 0; r < p.kernel_rows; ++r) {
    if (!p.rows[r]) continue;
    const float* w = p.weights + (r * p.kernel_width + reach.begin) * p.weights_step + c;
    const float* x = p.rows[r] + (first + reach.begin * p.dilation) * p.channels + c;
    for (int64_t t = reach.begin; t < reach.end; ++t) {
      const Vec weight = Vec::load(w);
#pragma GCC unroll 8
      for (int i = 0; i < kP; ++i) acc[i] = Vec::fma(load(x + i * next), weight, acc[i]);
      w += p.weights_step;
      x += p.dilation * p.channels;
    }
  }
  const int64_t to = pixel * p.channels + c;
  if (e.residual)
#pragma GCC unroll 8
    for (int i = 0; i < kP; ++i) acc[i] = acc[i] + load(e.residual + to + i * p.channels);
  if (in_registers(e))
    post_in_registers(e, [&](auto&& f) {
#pragma GCC unroll 8
      for (int i = 0; i < kP; ++i) acc[i] = f(acc[i]);
    });
#pragma GCC unroll 8
  for (int i = 0; i < kP; ++i) {
    if constexpr (kPart)
      acc[i].store(p.y + to + i * p.channels, n);
    else
      acc[i].store(p.y + to + i * p.channels);
  }
}

template <int kP>
void pixels(const DepthwiseRow& p, int64_t pixel, const Reach& reach) {
  int64_t c = 0;
  for (; c + Vec::kLanes <= p.channels; c += Vec::kLanes) block<kP, false>(p, pixel, reach, c, 0);
  if (c < p.channels) block<kP, true>(p, pixel, reach, c, p.channels - c);
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
