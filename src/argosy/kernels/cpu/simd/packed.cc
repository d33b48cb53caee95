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

// What comes nearer while a tile is multiplied, as arithmetic hides how far it is: a line for each
// row of the panel, or each second or fourth, since a core waits for so many only. Where nothing
// has to come, these are lines that are there: a branch would cost more.
struct Ahead {
  const float* at;
  int64_t step;
};

// As far as the second cache.
ARGOSY_INLINE void prefetch(const float* at) {
  _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1);
}

// For tile number `tile` of `tiles`, of `height` rows from `row` on: the rows that are next, a line
// of each row that is used soon, or a part of the panel that is next.
ARGOSY_INLINE Ahead ahead_of(const PanelProduct& p, int64_t at, int64_t row, int64_t height,
                             int64_t tile, int64_t tiles) {
  constexpr int64_t kLine = 64 / sizeof(float);
  if (at == 0 && p.x_is_far && !p.pieces && !p.x_next && p.x_step == p.k && row + height < p.m)
    return {p.x + (row + height) * p.x_step, kLine / 2};
  const int64_t step = tiles >= 16 ? kLine / 4 : tiles >= 8 ? kLine / 2 : kLine;
  if (at == 0 && p.soon && tile < kPanel / kLine) return {p.soon + tile * kLine, p.soon_step};
  if (at == 0 && p.next && tile * step < kPanel) return {p.next + tile * step * p.k, step};
  return {p.w, kLine};
}

// acc += x(row, 0), .. x(row, k - 1) times k rows of the panel from w on, whose end is returned.
template <int kR, int kV, class X>
ARGOSY_INLINE const float* accumulate(Vec (&acc)[kR][kV], int64_t k, const float* w, int64_t width,
                                      [[maybe_unused]] Ahead& ahead, X&& x) {
  for (int64_t q = 0; q < k; ++q, w += width) {
    if constexpr (kR >= 4) {
      prefetch(ahead.at);
      ahead.at += ahead.step;
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

// kR rows by kV vectors of y or of what has its form, of which the last vector of each row may be
// in it in part.
template <int kR, int kV>
struct Rows {
  int64_t step;
  Vec::Lanes of_last;

  ARGOSY_INLINE Vec load(const float* from, int i, int j) const {
    from += i * step + j * Vec::kLanes;
    return j + 1 < kV ? Vec::load(from) : Vec::load(from, of_last);
  }
  ARGOSY_INLINE void store(Vec v, float* to, int i, int j) const {
    to += i * step + j * Vec::kLanes;
    j + 1 < kV ? v.store(to) : v.store(to, of_last);
  }
  template <class F>
  ARGOSY_INLINE static void each(F&& f) {
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) f(i, j);
  }
};

// What follows a product, on kR rows by kV vectors of it.
template <int kR, int kV>
ARGOSY_INLINE void finish(const PanelProduct& p, Vec (&acc)[kR][kV], const Rows<kR, kV>& rows,
                          int64_t row, int64_t at) {
  const PackedEpilogue& e = p.epilogue;
  if (e.bias)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) {
      const Vec bias = rows.load(e.bias + at, 0, j);
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i) acc[i][j] = acc[i][j] + bias;
    }
  if (e.residual) {
    const float* r = e.residual + row * rows.step + at;
    rows.each([&](int i, int j) { acc[i][j] = acc[i][j] + rows.load(r, i, j); });
  }
  if (!in_registers(e)) return;
  post_in_registers(e,
                    [&](auto&& f) { rows.each([&](int i, int j) { acc[i][j] = f(acc[i][j]); }); });
}

enum class XForm { rows, turned, pieces };  // of x

// kR rows by kV vectors of y, from column `at` of the panel on.
template <int kR, int kV, XForm kForm>
void tile(const PanelProduct& p, int64_t row, int64_t at, Ahead ahead) {
  const int64_t columns =
      p.columns - at < kV * Vec::kLanes ? p.columns - at : int64_t{kV} * Vec::kLanes;
  const Rows<kR, kV> rows{p.y_step, Vec::first(columns - (kV - 1) * Vec::kLanes)};
  Vec acc[kR][kV];
  float* const y = p.y + row * p.y_step + at;
  if (p.first || p.in_parts)
    rows.each([&](int i, int j) { acc[i][j] = Vec::zero(); });
  else
    rows.each([&](int i, int j) { acc[i][j] = rows.load(y, i, j); });
  const float* w = p.w + at;
  if constexpr (kForm == XForm::pieces) {
    const int64_t length = p.k / p.segments;
    const float* const* pieces = p.pieces + row;
    for (int64_t s = 0; s < p.segments; ++s, pieces += p.pieces_step) {
      const float* x[kR];
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i) x[i] = pieces[i];
      w = accumulate(acc, length, w, p.width, ahead, [&](int i, int64_t q) { return x[i][q]; });
    }
  } else if constexpr (kForm == XForm::turned) {
    const float* x = p.x + row;
    const int64_t next = p.x_next;
    accumulate(acc, p.k, w, p.width, ahead, [&](int i, int64_t q) { return x[q * next + i]; });
  } else {
    const float* x = p.x + row * p.x_step;
    const int64_t step = p.x_step;
    accumulate(acc, p.k, w, p.width, ahead, [&](int i, int64_t q) { return x[i * step + q]; });
  }
  if (p.in_parts && !p.first)
    rows.each([&](int i, int j) { acc[i][j] = acc[i][j] + rows.load(y, i, j); });
  if (p.last) finish(p, acc, rows, row, at);
  rows.each([&](int i, int j) { rows.store(acc[i][j], y, i, j); });
  if (p.last && !in_registers(p.epilogue))
    for (int i = 0; i < kR; ++i) apply_post(p.epilogue, y + i * rows.step, columns);
}

// Of `height` rows, 1 to kMost.
template <int kMost, int kV, XForm kForm>
ARGOSY_INLINE void tile_of(int64_t height, const PanelProduct& p, int64_t row, int64_t at,
                           const Ahead& ahead) {
  if constexpr (kMost > 1)
    if (height < kMost) return tile_of<kMost - 1, kV, kForm>(height, p, row, at, ahead);
  tile<kMost, kV, kForm>(p, row, at, ahead);
}

// All rows, in tiles whose heights differ by one at most: a low one at the end would read the panel
// as often as a high one.
template <int kV, XForm kForm>
void strip(const PanelProduct& p, int64_t at) {
  constexpr int kMost = kForm == XForm::pieces ? kRowsOfPieces[kV] : kRows[kV];
  const int64_t tiles = (p.m + kMost - 1) / kMost, low = p.m / tiles, higher = p.m % tiles;
  for (int64_t i = 0, row = 0; i < tiles; ++i) {
    const int64_t height = low + (i < higher);
    tile_of<kMost, kV, kForm>(height, p, row, at, ahead_of(p, at, row, height, i, tiles));
    row += height;
  }
}

// Vectors of the panel that are not in y at all are left out.
template <XForm kForm>
void strips_of(const PanelProduct& p) {
  constexpr int64_t kWidth = kStrip * Vec::kLanes;
  int64_t at = 0;
  for (; p.columns - at > kWidth - Vec::kLanes; at += kWidth) strip<kStrip, kForm>(p, at);
  if constexpr (kStrip > 3)
    if (p.columns - at > 2 * Vec::kLanes) return strip<3, kForm>(p, at);
  if constexpr (kStrip > 2)
    if (p.columns - at > Vec::kLanes) return strip<2, kForm>(p, at);
  if (p.columns > at) strip<1, kForm>(p, at);
}

}  // namespace

void panel_product(const PanelProduct& p) {
  if (p.pieces)
    strips_of<XForm::pieces>(p);
  else if (p.x_next)
    strips_of<XForm::turned>(p);
  else
    strips_of<XForm::rows>(p);
}

void finish_elements(const PackedEpilogue& e, float* y, int64_t n) {
  if (e.residual)
    for (int64_t i = 0; i < n; ++i) y[i] += e.residual[i];
  apply_post(e, y, n);
}

}  // namespace argosy::cpu::ARGOSY_ISA
