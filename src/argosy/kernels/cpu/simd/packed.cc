// Products with packed weights. Compiled once per instruction set.
#include "argosy/kernels/cpu/simd/packed.h"

#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/panel.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// Vectors of a strip of columns, and rows of its tiles: as many accumulators as there are
// registers, but where each row has a pointer of its own, as many rows as there are of those.
#ifdef __AVX512F__
constexpr int kStrip = 4;
constexpr int kRows[] = {0, 14, 12, 8, 6}, kRowsOfPieces[] = {0, 8, 8, 8, 6};
#else
constexpr int kStrip = 2;
constexpr int kRows[] = {0, 8, 6}, kRowsOfPieces[] = {0, 8, 6};
#endif

// --- activations on what was just written ---

template <class F>
ARGOSY_INLINE void each_element(float* y, int64_t n, F&& f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
}

// Those that are more than a few instructions.
void apply_post(const PackedEpilogue& e, float* y, int64_t n) {
  const float a = e.alpha, b = e.beta;
  switch (e.post) {
    case PostOp::none:
      break;
    case PostOp::relu:
      each_element(y, n, [a](float x) { return x < 0 ? x * a : x; });
      break;
    case PostOp::clip:
      each_element(y, n, [a, b](float x) { return x < a ? a : x > b ? b : x; });
      break;
    case PostOp::elu:
      each_element(y, n, [a](float x) { return x > 0 ? x : a * (exp_of(x) - 1.0f); });
      break;
    case PostOp::sigmoid:
      each_element(y, n, [](float x) { return sigmoid_of(x); });
      break;
    case PostOp::tanh:
      each_element(y, n, [](float x) { return tanh_of(x); });
      break;
    case PostOp::silu:
      each_element(y, n, [](float x) { return x * sigmoid_of(x); });
      break;
    case PostOp::gelu:
      each_element(y, n, [](float x) { return x * normal_cdf(x); });
      break;
    case PostOp::gelu_tanh:
      each_element(y, n, [](float x) {
        return 0.5f * x * (1 + tanh_of(0.7978845608f * (x + 0.044715f * x * x * x)));
      });
      break;
    case PostOp::hardswish:
      each_element(y, n, [](float x) {
        const float t = x + 3.0f;
        return x * (t < 0 ? 0.0f : t > 6 ? 6.0f : t) * (1.0f / 6);
      });
      break;
    case PostOp::hardsigmoid:
      each_element(y, n, [a, b](float x) {
        const float t = a * x + b;
        return t < 0 ? 0.0f : t > 1 ? 1.0f : t;
      });
      break;
  }
  if (scales(e)) {
    const float scale = e.scale, shift = e.shift;
    each_element(y, n, [scale, shift](float x) { return x * scale + shift; });
  }
}

// --- tiles ---

// acc += x(row, 0), .. x(row, k - 1) times k rows of the panel from w on, whose end is returned.
// With each row a line of what is `ahead` comes nearer: weights are read once or twice a product,
// from afar, and arithmetic hides that.
template <int kR, int kV, class X>
ARGOSY_INLINE const float* accumulate(Vec (&acc)[kR][kV], int64_t k, const float* w, int64_t width,
                                      const float*& ahead, X&& x) {
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t q = 0; q < k; ++q, w += width) {
    if constexpr (kR >= 6) {
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
      ahead += kLine;
    }
    Vec b[kV];
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) b[j] = Vec::load(w + j * Vec::kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i) {
      const Vec a = Vec::fill(x(i, q));
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) acc[i][j] = Vec::fma(a, b[j], acc[i][j]);
    }
  }
  return w;
}

// What follows a product, on kR rows by kV vectors of it.
template <int kR, int kV>
ARGOSY_INLINE void finish(const PanelProduct& p, Vec (&acc)[kR][kV], int64_t row, int64_t at) {
  const PackedEpilogue& e = p.epilogue;
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
  if (!in_registers(e)) return;
  post_in_registers(e, [&](auto&& f) {
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) acc[i][j] = f(acc[i][j]);
  });
}

// kR rows by kV vectors of y, from column `at` of the panel on, all of which are in y.
template <int kR, int kV, bool kPieces>
ARGOSY_INLINE void tile(const PanelProduct& p, int64_t row, int64_t at) {
  Vec acc[kR][kV];
  float* const y = p.y + row * p.y_step + at;
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j)
      acc[i][j] = p.first ? Vec::zero() : Vec::load(y + i * p.y_step + j * Vec::kLanes);
  const float* w = p.w + at;
  // The next panel by the first tiles.
  const int64_t turn = row / kR;
  const float* ahead = p.next && at == 0 && turn < kPanel / 16 ? p.next + turn * p.k * 16 : w;
  if constexpr (kPieces) {
    const int64_t length = p.k / p.segments;
    const float* const* pieces = p.pieces + row;
    for (int64_t s = 0; s < p.segments; ++s, pieces += p.pieces_step) {
      const float* x[kR];
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i) x[i] = pieces[i];
      w = accumulate(acc, length, w, p.width, ahead, [&](int i, int64_t q) { return x[i][q]; });
    }
  } else {
    const float* x = p.x + row * p.x_step;
    const int64_t step = p.x_step;
    accumulate(acc, p.k, w, p.width, ahead, [&](int i, int64_t q) { return x[i * step + q]; });
  }
  if (p.last) finish(p, acc, row, at);
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) acc[i][j].store(y + i * p.y_step + j * Vec::kLanes);
  if (p.last && !in_registers(p.epilogue))
    for (int i = 0; i < kR; ++i) apply_post(p.epilogue, y + i * p.y_step, kV * Vec::kLanes);
}

template <int kR, int kV, bool kPieces>
void rows(const PanelProduct& p, int64_t& row, int64_t at) {
  for (; row + kR <= p.m; row += kR) tile<kR, kV, kPieces>(p, row, at);
}

template <int kV, bool kPieces>
void strip(const PanelProduct& p, int64_t at) {
  constexpr int kMost = kPieces ? kRowsOfPieces[kV] : kRows[kV];
  int64_t row = 0;
  rows<kMost, kV, kPieces>(p, row, at);
  if constexpr (kMost > 8) rows<8, kV, kPieces>(p, row, at);
  if constexpr (kMost > 4) rows<4, kV, kPieces>(p, row, at);
  rows<2, kV, kPieces>(p, row, at);
  rows<1, kV, kPieces>(p, row, at);
}

template <bool kPieces>
void strips_of(const PanelProduct& p) {
  int64_t at = 0;
  for (; at + kStrip * Vec::kLanes <= p.width; at += kStrip * Vec::kLanes)
    strip<kStrip, kPieces>(p, at);
  const int64_t left = (p.width - at) / Vec::kLanes;
  if constexpr (kStrip > 3)
    if (left == 3) return strip<3, kPieces>(p, at);
  if constexpr (kStrip > 2)
    if (left == 2) return strip<2, kPieces>(p, at);
  if (left == 1) strip<1, kPieces>(p, at);
}

void strips(const PanelProduct& p) {
  if (p.pieces)
    strips_of<true>(p);
  else
    strips_of<false>(p);
}

// One row by two panels: twice as many sums hide how long one addition is.
void two_panels(const PanelProduct& p) {
  const PackedEpilogue& e = p.epilogue;
  for (int64_t at = 0; at < kPanel; at += kStrip * Vec::kLanes) {
    Vec acc[2][1][kStrip];
    for (int h = 0; h < 2; ++h)
      for (int j = 0; j < kStrip; ++j)
        acc[h][0][j] = p.first ? Vec::zero() : Vec::load(p.y + h * kPanel + at + j * Vec::kLanes);
    const float *w = p.w + at, *other = p.second + at;
    for (int64_t q = 0; q < p.k; ++q, w += kPanel, other += kPanel) {
      const Vec x = Vec::fill(p.x[q]);
#pragma GCC unroll 4
      for (int j = 0; j < kStrip; ++j) {
        acc[0][0][j] = Vec::fma(x, Vec::load(w + j * Vec::kLanes), acc[0][0][j]);
        acc[1][0][j] = Vec::fma(x, Vec::load(other + j * Vec::kLanes), acc[1][0][j]);
      }
    }
    for (int h = 0; h < 2; ++h) {
      const int64_t column = h * kPanel + at;
      if (p.last) finish(p, acc[h], 0, column);
      for (int j = 0; j < kStrip; ++j) acc[h][0][j].store(p.y + column + j * Vec::kLanes);
      if (p.last && !in_registers(e)) apply_post(e, p.y + column, kStrip * Vec::kLanes);
    }
  }
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
    if (p.pieces)
      few.pieces = p.pieces + row;
    else
      few.x = p.x + row * p.x_step;
    few.y = room;
    few.y_step = kPanel;
    few.epilogue.residual = nullptr;
    few.epilogue.post = PostOp::none;
    few.epilogue.scale = 1;
    few.epilogue.shift = 0;
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
  if (p.second)
    two_panels(p);
  else if (p.columns == p.width)
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
