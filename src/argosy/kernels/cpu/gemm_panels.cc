#include "argosy/kernels/cpu/gemm_panels.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/packed_panels.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/copy.h"

namespace argosy::cpu {
namespace {

// Rows of op(A) that are few.
constexpr int64_t kFew = kPanel;
// Rows of B, as it stands, that are multiplied while they are near. Rows that are a multiple of
// 4 KB apart share few lines of a cache: so no more.
constexpr int64_t kDepth = 64;
// Terms of a sum that are added up apart otherwise: long sums round less. As many rows of op(B) are
// copied beside each other.
constexpr int64_t kPart = 256;
// Longest sum of those that are short.
constexpr int64_t kShort = 64;
// Of op(A), multiplied by a copied panel: with kPart terms each they stay in the second cache.
constexpr int64_t kRowsOfA = 512;
// Of C, written at a time while they are near.
constexpr int64_t kRowsOfC = 48;

void multiply(const PanelProduct& p) {
  (isa() == Isa::avx512 ? avx512::panel_product : avx2::panel_product)(p);
}

void transpose(float* to, int64_t to_ld, const float* from, int64_t from_ld, int64_t rows,
               int64_t columns) {
  transpose_kernel(sizeof(float))(to, to_ld, from, from_ld, rows, columns);
}

int64_t padded(int64_t columns) {
  return divide_up(columns, 16) * 16;
}

size_t bytes_of(int64_t count) {
  return static_cast<size_t>(count) * sizeof(float);
}

// Some columns of op(B), kPanel at most, from row q on, as a panel.
void pack_panel(const FloatProduct& g, int64_t q, int64_t depth, int64_t j, int64_t columns,
                float* panel) {
  const int64_t width = padded(columns);
  if (g.trans_b) {
    if (columns < width) std::fill(panel, panel + depth * width, 0.0f);
    return transpose(panel, width, g.b + j * g.ldb + q, g.ldb, columns, depth);
  }
  const float* from = g.b + q * g.ldb + j;
  for (int64_t i = 0; i < depth; ++i, panel += width, from += g.ldb) {
    if (columns == kPanel) {
      std::memcpy(panel, from, kPanel * sizeof(float));
      continue;
    }
    std::memcpy(panel, from, bytes_of(columns));
    std::fill(panel + columns, panel + width, 0.0f);
  }
}

// Where the panel is that follows that of `depth` rows from q on and columns from j on, and comes
// while that is multiplied; null: nowhere.
const float* behind(const FloatProduct& g, int64_t q, int64_t depth, int64_t j) {
  if (g.trans_b) return nullptr;
  const float* at = g.b + q * g.ldb + j;
  if (j + 2 * kPanel <= g.n) return at + kPanel;
  return q + 2 * depth <= g.k ? g.b + (q + depth) * g.ldb : nullptr;
}

PackedEpilogue epilogue_of(const FloatProduct& g) {
  PackedEpilogue e;
  e.bias = g.bias;
  if (g.relu) e.post = PostOp::relu;
  return e;
}

// Few rows: B is read once, as it stands, some of its rows after the other. The panel behind the
// one that is multiplied comes meanwhile. Columns that are no whole vectors are packed.
void multiply_by_few(const FloatProduct& g) {
  const Scratch edge(bytes_of(kDepth * kPanel));
  PanelProduct p{};
  p.m = g.m;
  p.in_parts = true;
  p.x_step = g.trans_a ? 1 : g.lda;
  p.x_next = g.trans_a ? g.lda : 0;
  p.y_step = g.ldc;
  p.soon_step = g.ldb;
  p.epilogue = epilogue_of(g);
  for (int64_t q = 0; q < g.k; q += kDepth) {
    p.k = std::min(kDepth, g.k - q);
    p.first = q == 0;
    p.last = q + p.k == g.k;
    p.x = g.a + q * (g.trans_a ? g.lda : 1);
    for (int64_t j = 0; j < g.n; j += kPanel) {
      p.columns = std::min(kPanel, g.n - j);
      p.width = g.ldb;
      p.w = g.b + q * g.ldb + j;
      p.y = g.c + j;
      p.soon = behind(g, q, kDepth, j);
      if (g.bias) p.epilogue.bias = g.bias + j;
      if (p.columns != padded(p.columns)) {
        pack_panel(g, q, p.k, j, p.columns, edge.as<float>());
        p.width = padded(p.columns);
        p.w = edge.as<float>();
      }
      multiply(p);
    }
  }
}

void copy_rows(float* to, int64_t to_ld, const float* from, int64_t from_ld, int64_t rows,
               int64_t columns) {
  for (int64_t i = 0; i < rows; ++i, to += to_ld, from += from_ld)
    std::memcpy(to, from, bytes_of(columns));
}

// How far rows of a block of A lie apart that has so many columns: no multiple of 4 KB.
int64_t step_of(int64_t columns) {
  return padded(columns) + 16;
}

// Some rows of op(A), from row i on. Panels are copied, as rows of B that are a multiple of 4 KB
// apart share few lines of a cache, and read by all of these rows.
void multiply_rows(const FloatProduct& g, int64_t i, int64_t rows, float* panel, float* turned) {
  const int64_t step = step_of(rows);
  PanelProduct p{};
  p.m = rows;
  p.in_parts = true;
  p.x_step = g.trans_a ? 1 : g.lda;
  p.x_next = g.trans_a ? step : 0;
  p.y_step = g.ldc;
  p.soon_step = g.ldb;
  p.epilogue = epilogue_of(g);
  p.w = panel;
  for (int64_t q = 0; q < g.k; q += kPart) {
    p.k = std::min(kPart, g.k - q);
    p.first = q == 0;
    p.last = q + p.k == g.k;
    p.x = g.trans_a ? turned : g.a + i * g.lda + q;
    if (g.trans_a) copy_rows(turned, step, g.a + q * g.lda + i, g.lda, p.k, rows);
    for (int64_t j = 0; j < g.n; j += kPanel) {
      p.columns = std::min(kPanel, g.n - j);
      p.width = padded(p.columns);
      pack_panel(g, q, p.k, j, p.columns, panel);
      p.y = g.c + i * g.ldc + j;
      p.soon = behind(g, q, kPart, j);
      if (g.bias) p.epilogue.bias = g.bias + j;
      multiply(p);
    }
  }
}

void multiply_blocks(const FloatProduct& g) {
  const int64_t rows = divide_up(g.m, divide_up(g.m, kRowsOfA));
  const Scratch panel(bytes_of(kPart * kPanel));
  const Scratch turned(bytes_of(g.trans_a ? step_of(rows) * kPart : 0));
  for (int64_t i = 0; i < g.m; i += rows)
    multiply_rows(g, i, std::min(rows, g.m - i), panel.as<float>(), turned.as<float>());
}

// Short sums: what takes time is to write C, so its lines come before they are written.
void multiply_short(const FloatProduct& g) {
  constexpr int64_t rows = kRowsOfC;
  const Scratch packed(bytes_of(g.k * padded(g.n))), turned(bytes_of(g.k * rows));
  for (int64_t j = 0; j < g.n; j += kPanel)
    pack_panel(g, 0, g.k, j, std::min(kPanel, g.n - j), packed.as<float>(j * g.k));
  PanelProduct p{};
  p.k = g.k;
  p.first = p.last = true;
  p.x = turned.as<float>();
  p.x_step = 1;
  p.x_next = rows;
  p.y_step = p.soon_step = g.ldc;
  p.epilogue = epilogue_of(g);
  for (int64_t i = 0; i < g.m; i += rows) {
    p.m = std::min(rows, g.m - i);
    copy_rows(turned.as<float>(), rows, g.a + i, g.lda, g.k, p.m);
    for (int64_t j = 0; j < g.n; j += kPanel) {
      p.width = std::min(kPanel, padded(g.n - j));
      p.columns = std::min(p.width, g.n - j);
      p.w = packed.as<float>(j * g.k);
      p.y = g.c + i * g.ldc + j;
      if (g.bias) p.epilogue.bias = g.bias + j;
      p.soon = j + 2 * kPanel <= g.n ? p.y + kPanel : nullptr;
      if (!p.soon && i + 2 * rows <= g.m) p.soon = g.c + (i + rows) * g.ldc;
      multiply(p);
    }
  }
}

// op(A), few rows of it, transposed: one panel.
void pack_turned(const FloatProduct& g, float* packed) {
  const int64_t width = padded(g.m);
  if (g.m < width) std::memset(packed, 0, bytes_of(g.k * width));
  if (!g.trans_a) return transpose(packed, width, g.a, g.lda, g.m, g.k);
  for (int64_t q = 0; q < g.k; ++q) std::memcpy(packed + q * width, g.a + q * g.lda, bytes_of(g.m));
}

// Few rows, and a transposed B: its rows are read once, as they stand, and give columns of C.
void multiply_rows_of_b(const FloatProduct& g) {
  const Scratch panel(bytes_of(g.k * padded(g.m))), columns(bytes_of(kRowsOfC * kPanel));
  pack_turned(g, panel.as<float>());
  PanelProduct p{};
  p.x_step = g.ldb;
  p.width = padded(g.m);
  p.columns = g.m;
  p.y = columns.as<float>();
  p.y_step = kPanel;
  p.x_is_far = p.in_parts = true;
  for (int64_t j = 0; j < g.n; j += kRowsOfC) {
    p.m = std::min(kRowsOfC, g.n - j);
    for (int64_t q = 0; q < g.k; q += kPart) {
      p.k = std::min(kPart, g.k - q);
      p.first = q == 0;
      p.last = q + p.k == g.k;
      p.x = g.b + j * g.ldb + q;
      p.w = panel.as<float>(q * p.width);
      multiply(p);
    }
    transpose(g.c + j, g.ldc, columns.as<float>(), kPanel, p.m, g.m);
  }
}

}  // namespace

PanelWay panel_way(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k) {
  constexpr double kLeast = 8e6;  // multiplications
  if (isa() != Isa::avx512) return PanelWay::none;
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < kLeast)
    return PanelWay::none;
  if (m < 8 || n < 128 || k < 32) return PanelWay::none;
  if (m <= kFew) return trans_b ? PanelWay::rows_of_b : PanelWay::few_rows;
  if (trans_a && trans_b) return PanelWay::none;
  if (trans_a && k <= kShort) return PanelWay::short_sums;
  // Where rows are a multiple of 4 KB apart the library is slow; otherwise it is as fast, and
  // faster where all of B has to be read from far for each block of rows.
  const auto is_far = [](int64_t columns) { return columns % 1024 == 0; };
  const bool copied = trans_a   ? is_far(m) && n <= 512
                      : trans_b ? n <= 256 || (is_far(k) && n <= 768)
                                : is_far(n) && m <= kRowsOfA && k <= kPart;
  return copied ? PanelWay::copied : PanelWay::none;
}

void panel_gemm(PanelWay way, const FloatProduct& g) {
  switch (way) {
    case PanelWay::few_rows:
      return multiply_by_few(g);
    case PanelWay::rows_of_b:
      return multiply_rows_of_b(g);
    case PanelWay::short_sums:
      return multiply_short(g);
    case PanelWay::copied:
      return multiply_blocks(g);
    case PanelWay::none:
      break;
  }
  ARGOSY_INVARIANT(false);
}

}  // namespace argosy::cpu
