// Products with packed weights. Compiled once per instruction set.
#include "argosy/kernels/cpu/simd/packed.h"

#include <immintrin.h>

#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

#ifdef __AVX512F__
struct Vec {
  static constexpr int kLanes = 16;
  __m512 v;
  ARGOSY_INLINE static Vec zero() { return {_mm512_setzero_ps()}; }
  ARGOSY_INLINE static Vec fill(float x) { return {_mm512_set1_ps(x)}; }
  ARGOSY_INLINE static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  ARGOSY_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  ARGOSY_INLINE static Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  ARGOSY_INLINE Vec operator+(Vec o) const { return {_mm512_add_ps(v, o.v)}; }
  // The second where one is NaN: so NaN passes.  (Unmasked, GCC 12 warns in its own header.)
  ARGOSY_INLINE static Vec max(Vec a, Vec b) { return {_mm512_maskz_max_ps(0xffff, a.v, b.v)}; }
  ARGOSY_INLINE static Vec min(Vec a, Vec b) { return {_mm512_maskz_min_ps(0xffff, a.v, b.v)}; }
};
// Vectors of a strip of columns, and rows of its tiles: as many accumulators as there are
// registers.
constexpr int kStrip = 4;
constexpr int kRows[] = {0, 14, 12, 8, 6};
#else
struct Vec {
  static constexpr int kLanes = 8;
  __m256 v;
  ARGOSY_INLINE static Vec zero() { return {_mm256_setzero_ps()}; }
  ARGOSY_INLINE static Vec fill(float x) { return {_mm256_set1_ps(x)}; }
  ARGOSY_INLINE static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  ARGOSY_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  ARGOSY_INLINE static Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  ARGOSY_INLINE Vec operator+(Vec o) const { return {_mm256_add_ps(v, o.v)}; }
  ARGOSY_INLINE static Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
  ARGOSY_INLINE static Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
};
constexpr int kStrip = 2;
constexpr int kRows[] = {0, 8, 6};
#endif

template <class F>
ARGOSY_INLINE void each(float* y, int64_t n, F&& f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
}

// Activations that are more than a few instructions, on what was just written.
void apply_post(const PackedEpilogue& e, float* y, int64_t n) {
  const float a = e.alpha, b = e.beta;
  switch (e.post) {
    case PostOp::none:
      return;
    case PostOp::relu:
      return each(y, n, [a](float x) { return x < 0 ? x * a : x; });
    case PostOp::clip:
      return each(y, n, [a, b](float x) { return x < a ? a : x > b ? b : x; });
    case PostOp::elu:
      return each(y, n, [a](float x) { return x > 0 ? x : a * (exp_of(x) - 1.0f); });
    case PostOp::sigmoid:
      return each(y, n, [](float x) { return sigmoid_of(x); });
    case PostOp::tanh:
      return each(y, n, [](float x) { return tanh_of(x); });
    case PostOp::silu:
      return each(y, n, [](float x) { return x * sigmoid_of(x); });
    case PostOp::gelu:
      return each(y, n, [](float x) { return x * normal_cdf(x); });
    case PostOp::gelu_tanh:
      return each(y, n, [](float x) {
        return 0.5f * x * (1 + tanh_of(0.7978845608f * (x + 0.044715f * x * x * x)));
      });
    case PostOp::hardswish:
      return each(y, n, [](float x) {
        const float t = x + 3.0f;
        return x * (t < 0 ? 0.0f : t > 6 ? 6.0f : t) * (1.0f / 6);
      });
    case PostOp::hardsigmoid:
      return each(y, n, [a, b](float x) {
        const float t = a * x + b;
        return t < 0 ? 0.0f : t > 1 ? 1.0f : t;
      });
  }
}

bool in_registers(const PackedEpilogue& e) {
  return (e.post == PostOp::relu && e.alpha == 0) || e.post == PostOp::clip;
}

// kR rows by kV vectors of y, from column `at` of the panel on, all of which are in y.
template <int kR, int kV>
ARGOSY_INLINE void tile(const PanelProduct& p, int64_t row, int64_t at) {
  Vec acc[kR][kV];
  float* const y = p.y + row * p.y_step + at;
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j)
      acc[i][j] = p.first ? Vec::zero() : Vec::load(y + i * p.y_step + j * Vec::kLanes);
  const float* x = p.x + row * p.x_step;
  const float* w = p.w + at;
  for (int64_t q = 0; q < p.k; ++q, w += p.width) {
    Vec b[kV];
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) b[j] = Vec::load(w + j * Vec::kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i) {
      const Vec a = Vec::fill(x[i * p.x_step + q]);
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) acc[i][j] = Vec::fma(a, b[j], acc[i][j]);
    }
  }
  const PackedEpilogue& e = p.epilogue;
  if (p.last) {
    if (e.bias)
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) {
        const Vec bias = Vec::load(e.bias + at + j * Vec::kLanes);
#pragma GCC unroll 16
        for (int i = 0; i < kR; ++i) acc[i][j] = acc[i][j] + bias;
      }
    if (e.residual) {
      const float* r = e.residual + row * p.y_step + at;
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < kV; ++j)
          acc[i][j] = acc[i][j] + Vec::load(r + i * p.y_step + j * Vec::kLanes);
    }
    if (in_registers(e)) {
      const Vec low = Vec::fill(e.post == PostOp::clip ? e.alpha : 0);
      const Vec high = Vec::fill(e.post == PostOp::clip ? e.beta : __builtin_inff());
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < kV; ++j) acc[i][j] = Vec::min(high, Vec::max(low, acc[i][j]));
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) acc[i][j].store(y + i * p.y_step + j * Vec::kLanes);
  if (p.last && !in_registers(e) && e.post != PostOp::none)
    for (int i = 0; i < kR; ++i) apply_post(e, y + i * p.y_step, kV * Vec::kLanes);
}

template <int kR, int kV>
void rows(const PanelProduct& p, int64_t& row, int64_t at) {
  for (; row + kR <= p.m; row += kR) tile<kR, kV>(p, row, at);
}

template <int kV>
void strip(const PanelProduct& p, int64_t at) {
  int64_t row = 0;
  rows<kRows[kV], kV>(p, row, at);
  if constexpr (kRows[kV] > 8) rows<8, kV>(p, row, at);
  if constexpr (kRows[kV] > 4) rows<4, kV>(p, row, at);
  rows<2, kV>(p, row, at);
  rows<1, kV>(p, row, at);
}

void strips(const PanelProduct& p) {
  int64_t at = 0;
  for (; at + kStrip * Vec::kLanes <= p.width; at += kStrip * Vec::kLanes) strip<kStrip>(p, at);
  const int64_t left = (p.width - at) / Vec::kLanes;
  if constexpr (kStrip > 3)
    if (left == 3) return strip<3>(p, at);
  if constexpr (kStrip > 2)
    if (left == 2) return strip<2>(p, at);
  if (left == 1) strip<1>(p, at);
}

// Columns of the panel that are not in y go to memory of our own, a few rows at a time.
void edge(const PanelProduct& p) {
  constexpr int64_t kFew = 12;
  alignas(64) float room[kFew * kPanel];
  alignas(64) float bias[kPanel] = {};
  if (p.epilogue.bias)
    for (int64_t j = 0; j < p.columns; ++j) bias[j] = p.epilogue.bias[j];
  for (int64_t row = 0; row < p.m; row += kFew) {
    PanelProduct few = p;
    few.m = p.m - row < kFew ? p.m - row : kFew;
    few.x = p.x + row * p.x_step;
    few.y = room;
    few.y_step = kPanel;
    few.epilogue.residual = nullptr;
    few.epilogue.post = PostOp::none;
    if (p.epilogue.bias) few.epilogue.bias = bias;
    float* y = p.y + row * p.y_step;
    if (!p.first)
      for (int64_t i = 0; i < few.m; ++i)
        for (int64_t j = 0; j < p.columns; ++j) room[i * kPanel + j] = y[i * p.y_step + j];
    strips(few);
    for (int64_t i = 0; i < few.m; ++i) {
      float* to = y + i * p.y_step;
      for (int64_t j = 0; j < p.columns; ++j) to[j] = room[i * kPanel + j];
      if (!p.last) continue;
      if (p.epilogue.residual) {
        const float* r = p.epilogue.residual + (row + i) * p.y_step;
        for (int64_t j = 0; j < p.columns; ++j) to[j] += r[j];
      }
      apply_post(p.epilogue, to, p.columns);
    }
  }
}

}  // namespace

void panel_product(const PanelProduct& p) {
  if (p.columns == p.width)
    strips(p);
  else
    edge(p);
}

void finish_elements(const PackedEpilogue& e, float* y, int64_t n) {
  if (e.residual)
    for (int64_t i = 0; i < n; ++i) y[i] += e.residual[i];
  apply_post(e, y, n);
}

}  // namespace argosy::cpu::ARGOSY_ISA
