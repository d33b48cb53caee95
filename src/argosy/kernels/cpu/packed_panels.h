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
// A matrix of outer * inner rows: at(o, i, j) is the element of row o * inner + i in column j. In
// memory those of a column lie beside each other, i before o or o before i. They are read a few
// rows at a time, so that what comes with a line of memory is used while it is near; reading a row
// across the columns would find each of its elements in a line that the next row finds gone.
template <class At>
void pack_panels(int64_t outer, int64_t inner, int64_t n, float* packed, At&& at) {
  constexpr int64_t kRows = 16;  // a line of floats
  const int64_t k = outer * inner;
  parallel_for(count_panels(n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanel, width = width_of(n, panel);
      const int64_t columns = std::min(width, n - first);
      float* const to = packed + first * k;
      for (int64_t row = 0; row < inner; row += kRows) {
        const int64_t last = std::min(row + kRows, inner);
        for (int64_t j = 0; j < columns; ++j)
          for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = row; i < last; ++i)
              to[(o * inner + i) * width + j] = at(o, i, first + j);
      }
      if (columns == width) continue;
      for (int64_t i = 0; i < k; ++i)
        std::fill(to + i * width + columns, to + (i + 1) * width, 0.0f);
    }
  });
}

// Rows of a chunk and panels of a group: a task is one of each. An element is summed up in the same
// order whatever the cut, so this may depend on the number of threads. The last chunk and the last
// group may be smaller.
struct PanelCut {
  int64_t rows, row_chunks, panels, groups;
  bool panels_first;  // the chunks of a group follow each other, else the groups of a chunk
  bool x_is_large;    // larger than the weights

  int64_t tasks() const { return row_chunks * groups; }
  int64_t chunk_of(int64_t task) const { return panels_first ? task % row_chunks : task / groups; }
  int64_t group_of(int64_t task) const { return panels_first ? task / row_chunks : task % groups; }
};

// `x_bytes`: of the memory that x is in.
PanelCut cut_panels(int64_t m, int64_t k, int64_t n, int64_t x_bytes);

// Whether a product of few rows reads its panels from the last one to the first: each second one of
// this thread with these weights does. Such products wait for the weights. Where the weights of a
// model are a little larger than a cache, reading them in the same order each time finds none of
// them there; turning around finds what was read last. No sum depends on it.
bool turns_around(int64_t rows, const float* weights);

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
  const int64_t first = c.group_of(task) * c.panels;
  const int64_t last = std::min(count_panels(w.n), first + c.panels);
  // Where the calling thread probably goes on after this task.
  const int64_t then = c.group_of((task + num_threads()) % c.tasks()) * c.panels;
  const bool backward = turns_around(p.m, w.at(first, 0));
  const int64_t begin = backward ? last - 1 : first, end = backward ? first : last - 1;
  const int64_t step = backward ? -1 : 1;
  p.y_step = w.n;
  for (int64_t q = 0; q < w.k; q += p.k) {
    begin_block(p, q);
    p.first = q == 0;
    p.last = q + p.k == w.k;
    for (int64_t panel = begin;; panel += step) {
      const int64_t column = panel * kPanel;
      p.width = width_of(w.n, panel);
      p.columns = std::min(p.width, w.n - column);
      p.w = w.at(panel, q);
      const bool block_ends = panel == end;
      const int64_t next = !block_ends ? panel + step : p.last ? then : begin;
      p.next = w.at(next, !block_ends ? q : p.last ? 0 : q + p.k);
      p.x_is_far = c.x_is_large && panel == begin;
      p.y = y + row * w.n + column;
      p.epilogue = epilogue;
      if (epilogue.bias) p.epilogue.bias = epilogue.bias + column;
      if (epilogue.residual) p.epilogue.residual = epilogue.residual + row * w.n + column;
      product(p);
      if (block_ends) break;
    }
  }
}

}  // namespace argosy::cpu
