#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/packed.h"

// Products with packed weights, cut into panels of columns (simd/packed.h), which lie one after the
// other.
namespace argosy::cpu {
namespace {

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t width_of(int64_t n, int64_t panel) {
  return std::min(kPanel, divide_up(n - panel * kPanel, 16) * 16);
}

// How a product is cut: rows of a chunk and panels of a group, for tasks of some 100 us.
struct Cut {
  int64_t rows, row_chunks, panels, groups;
};

Cut cut(int64_t m, int64_t k, int64_t n) {
  const int64_t panels = divide_up(n, kPanel);
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n * k);
  const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(operations / 8e6), 1, 16);
  // Few rows share weights, so columns are cut; many rows are cut into some that stay in the cache.
  constexpr int64_t kMostRows = 192;
  const int64_t most_chunks = divide_up(m, 24);
  int64_t row_chunks = std::clamp<int64_t>(divide_up(m, kMostRows), 1, most_chunks);
  int64_t groups = std::clamp<int64_t>(divide_up(tasks, row_chunks), 1, panels);
  if (groups * row_chunks < tasks)
    row_chunks = std::clamp<int64_t>(divide_up(tasks, groups), row_chunks, most_chunks);
  const int64_t rows = std::min(m, divide_up(divide_up(m, row_chunks), 12) * 12);
  const int64_t of_group = divide_up(panels, groups);
  return {rows, divide_up(m, rows), of_group, divide_up(panels, of_group)};
}

}  // namespace

int64_t packed_linear_bytes(int64_t k, int64_t n) {
  if (k <= 0 || n <= 0) return 0;
  return divide_up(n, 16) * 16 * k * static_cast<int64_t>(sizeof(float));
}

void pack_linear(int64_t k, int64_t n, const float* w, int64_t row, int64_t column, void* packed) {
  auto* to = static_cast<float*>(packed);
  for (int64_t panel = 0; panel * kPanel < n; ++panel) {
    const int64_t first = panel * kPanel, width = width_of(n, panel);
    const int64_t columns = std::min(width, n - first);
    for (int64_t i = 0; i < k; ++i, to += width) {
      for (int64_t j = 0; j < columns; ++j) to[j] = w[i * row + (first + j) * column];
      std::fill(to + columns, to + width, 0.0f);
    }
  }
}

void packed_linear(int64_t m, int64_t k, int64_t n, const float* x, const void* packed,
                   const PackedEpilogue& epilogue, float* y) {
  if (m == 0 || n == 0) return;
  // Weights of a panel and rows of x are read again and again: as many of both as the cache holds.
  constexpr int64_t kDepth = 1024;
  const bool wide = isa() == Isa::avx512;
  void (*const product)(const PanelProduct&) = wide ? avx512::panel_product : avx2::panel_product;
  const auto* weights = static_cast<const float*>(packed);
  const Cut c = cut(m, k, n);
  const int64_t panels = divide_up(n, kPanel);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / c.groups * c.rows, group = task % c.groups;
      PanelProduct p{};
      p.m = std::min(c.rows, m - row);
      p.x_step = k;
      p.y_step = n;
      const int64_t last = std::min(panels, (group + 1) * c.panels);
      for (int64_t q = 0; q < k; q += kDepth) {
        p.k = std::min(kDepth, k - q);
        p.x = x + row * k + q;
        p.first = q == 0;
        p.last = q + p.k == k;
        for (int64_t panel = group * c.panels; panel < last; ++panel) {
          const int64_t column = panel * kPanel;
          p.width = width_of(n, panel);
          p.columns = std::min(p.width, n - column);
          p.w = weights + column * k + q * p.width;
          p.y = y + row * n + column;
          p.epilogue = epilogue;
          if (epilogue.bias) p.epilogue.bias = epilogue.bias + column;
          if (epilogue.residual) p.epilogue.residual = epilogue.residual + row * n + column;
          product(p);
        }
      }
    }
  };
  const int64_t tasks = c.row_chunks * c.groups;
  if (tasks == 1)
    run(0, 1);
  else
    parallel_for(tasks, 1, run);
}

}  // namespace argosy::cpu
