#pragma once

#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/packed.h"

// How products with packed weights are cut into panels of columns (simd/packed.h), which lie one
// after the other, and into tasks. Private to kernels/cpu.
namespace argosy::cpu {

// Weights of a panel and rows of x are read again and again: as many of both as the cache holds.
inline constexpr int64_t kPanelDepth = 1024;

inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

inline int64_t count_panels(int64_t n) {
  return divide_up(n, kPanel);
}
inline int64_t width_of(int64_t n, int64_t panel) {
  return std::min(kPanel, divide_up(n - panel * kPanel, 16) * 16);
}
// Bytes of a packed matrix [k, n].
inline int64_t bytes_of_panels(int64_t k, int64_t n) {
  return divide_up(n, 16) * 16 * k * static_cast<int64_t>(sizeof(float));
}
// at(i, j): the matrix's element.
template <class At>
void pack_panels(int64_t k, int64_t n, float* to, At&& at) {
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t width = width_of(n, first / kPanel), columns = std::min(width, n - first);
    for (int64_t i = 0; i < k; ++i, to += width) {
      for (int64_t j = 0; j < columns; ++j) to[j] = at(i, first + j);
      std::fill(to + columns, to + width, 0.0f);
    }
  }
}

// Rows of a chunk and panels of a group: a task is one of each, of some 20 us at least.
struct PanelCut {
  int64_t rows, row_chunks, panels, groups;
};

inline PanelCut cut_panels(int64_t m, int64_t k, int64_t n) {
  const int64_t panels = count_panels(n);
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n * k);
  const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(operations / 3e6), 1, 16);
  // Few rows share weights, so columns are cut; many rows are cut into some that stay in the cache.
  constexpr int64_t kMostRows = 192;
  const int64_t most_chunks = divide_up(m, 24);
  int64_t row_chunks = std::clamp<int64_t>(divide_up(m, kMostRows), 1, most_chunks);
  const int64_t groups = std::clamp<int64_t>(divide_up(tasks, row_chunks), 1, panels);
  if (groups * row_chunks < tasks)
    row_chunks = std::clamp<int64_t>(divide_up(tasks, groups), row_chunks, most_chunks);
  const int64_t rows = std::min(m, divide_up(divide_up(m, row_chunks), 12) * 12);
  const int64_t of_group = divide_up(panels, groups);
  return {rows, divide_up(m, rows), of_group, divide_up(panels, of_group)};
}

// A matrix [k, n] as packed.
struct PanelMatrix {
  int64_t k, n;
  const float* packed;

  // From `row` of a panel on.
  const float* at(int64_t panel, int64_t row) const {
    return packed + panel * kPanel * k + row * width_of(n, panel);
  }
};

// Multiplies the panels of a task, one block of rows of the matrix after
// the other. begin_block(p, begin) sets what p says of x for the block that it begins, and p.k.
template <class BeginBlock>
void multiply_panels(PanelProduct& p, const PanelCut& c, int64_t task, const PanelMatrix& w,
                     int64_t row, const PackedEpilogue& epilogue, float* y,
                     BeginBlock&& begin_block) {
  const bool wide = isa() == Isa::avx512;
  void (*const product)(const PanelProduct&) = wide ? avx512::panel_product : avx2::panel_product;
  const int64_t first = task % c.groups * c.panels;
  const int64_t last = std::min(count_panels(w.n), first + c.panels);
  // Where the calling thread probably goes on after this task.
  const int64_t then = (task + num_threads()) % c.groups * c.panels;
  p.y_step = w.n;
  for (int64_t q = 0; q < w.k; q += p.k) {
    begin_block(p, q);
    p.first = q == 0;
    p.last = q + p.k == w.k;
    for (int64_t panel = first; panel < last; panel += p.second ? 2 : 1) {
      const int64_t column = panel * kPanel;
      p.width = width_of(w.n, panel);
      p.columns = std::min(p.width, w.n - column);
      p.w = w.at(panel, q);
      const bool pair = p.m == 1 && !p.pieces && panel + 1 < last && column + 2 * kPanel <= w.n;
      p.second = pair ? w.at(panel + 1, q) : nullptr;
      const bool block_ends = panel + 1 == last;
      const int64_t next = !block_ends ? panel + 1 : p.last ? then : first;
      p.next = w.at(next, !block_ends ? q : p.last ? 0 : q + p.k);
      p.y = y + row * w.n + column;
      p.epilogue = epilogue;
      if (epilogue.bias) p.epilogue.bias = epilogue.bias + column;
      if (epilogue.residual) p.epilogue.residual = epilogue.residual + row * w.n + column;
      product(p);
    }
  }
}

}  // namespace argosy::cpu
