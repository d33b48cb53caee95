#include "argosy/kernels/cpu/gemm_panels.h"

#include <algorithm>
#include <cstring>

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
// Terms of a sum that are added up apart, where B is transposed: long sums round less.
constexpr int64_t kPart = 256;
// Longest sum of those that are short: no more than kDepth, so that tiles of few rows add it alike.
constexpr int64_t kShort = kDepth;
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

// op(A), row by row.
class Rows {
 public:
  explicit Rows(const FloatProduct& g) : turned_(bytes_of(g.trans_a ? g.m * g.k : 0)), g_(g) {
    if (g.trans_a) transpose(turned_.as<float>(), g.k, g.a, g.lda, g.k, g.m);
  }
  const float* data() const { return g_.trans_a ? turned_.as<float>() : g_.a; }
  int64_t ld() const { return g_.trans_a ? g_.k : g_.lda; }

 private:
  const Scratch turned_;
  const FloatProduct& g_;
};

// Some columns of B, kPanel at most, from row q on, as a panel.
void pack_panel(const FloatProduct& g, int64_t q, int64_t depth, int64_t j, int64_t columns,
                float* panel) {
  const int64_t width = padded(columns);
  for (int64_t i = 0; i < depth; ++i, panel += width) {
    std::memcpy(panel, g.b + (q + i) * g.ldb + j, bytes_of(columns));
    std::fill(panel + columns, panel + width, 0.0f);
  }
}

// Few rows: B is read once, as it stands, some of its rows after the other. The panel behind the
// one that is multiplied comes meanwhile. Columns that are no whole vectors are packed.
void multiply_by_few(const FloatProduct& g) {
  const Rows a(g);
  const Scratch edge(bytes_of(kDepth * kPanel));
  PanelProduct p{};
  p.m = g.m;
  p.in_parts = true;
  p.x_step = a.ld();
  p.y_step = g.ldc;
  p.soon_step = g.ldb;
  for (int64_t q = 0; q < g.k; q += kDepth) {
    p.k = std::min(kDepth, g.k - q);
    p.first = q == 0;
    p.last = q + p.k == g.k;
    p.x = a.data() + q;
    for (int64_t j = 0; j < g.n; j += kPanel) {
      p.columns = std::min(kPanel, g.n - j);
      p.width = g.ldb;
      p.w = g.b + q * g.ldb + j;
      p.y = g.c + j;
      p.soon = j + 2 * kPanel <= g.n ? p.w + kPanel : nullptr;
      if (!p.soon && q + 2 * kDepth <= g.k) p.soon = g.b + (q + kDepth) * g.ldb;
      if (p.columns != padded(p.columns)) {
        pack_panel(g, q, p.k, j, p.columns, edge.as<float>());
        p.width = padded(p.columns);
        p.w = edge.as<float>();
      }
      multiply(p);
    }
  }
}

// Short sums: what takes time is to write C, so its lines come before they are written.
void multiply_short(const FloatProduct& g) {
  const Rows a(g);
  const Scratch packed(bytes_of(g.k * padded(g.n)));
  for (int64_t j = 0; j < g.n; j += kPanel)
    pack_panel(g, 0, g.k, j, std::min(kPanel, g.n - j), packed.as<float>(j * g.k));
  constexpr int64_t rows = kRowsOfC;
  PanelProduct p{};
  p.k = g.k;
  p.first = p.last = true;
  p.x_step = a.ld();
  p.y_step = p.soon_step = g.ldc;
  for (int64_t i = 0; i < g.m; i += rows) {
    p.m = std::min(rows, g.m - i);
    p.x = a.data() + i * p.x_step;
    for (int64_t j = 0; j < g.n; j += kPanel) {
      p.width = std::min(kPanel, padded(g.n - j));
      p.columns = std::min(p.width, g.n - j);
      p.w = packed.as<float>(j * g.k);
      p.y = g.c + i * g.ldc + j;
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

bool prefers_panels(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k) {
  constexpr double kLeast = 8e6;  // multiplications
  if (isa() != Isa::avx512) return false;
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < kLeast)
    return false;
  if (m < 8 || n < 128 || k < 32) return false;
  return m <= kFew || (trans_a && !trans_b && k <= kShort);
}

void panel_gemm(const FloatProduct& g) {
  if (g.trans_b) return multiply_rows_of_b(g);
  g.m <= kFew ? multiply_by_few(g) : multiply_short(g);
}

}  // namespace argosy::cpu
