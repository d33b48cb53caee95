#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/packed_panels.h"

// Products with packed weights.
namespace argosy::cpu {

int64_t packed_linear_bytes(int64_t k, int64_t n) {
  return k <= 0 || n <= 0 ? 0 : bytes_of_panels(k, n);
}

void pack_linear(int64_t k, int64_t n, const float* w, int64_t row, int64_t column, void* packed) {
  auto* const to = static_cast<float*>(packed);
  if (column != 1) {
    pack_panels(1, k, n, to,
                [&](int64_t, int64_t i, int64_t j) { return w[i * row + j * column]; });
    return;
  }
  parallel_for(count_panels(n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanel, width = width_of(n, panel);
      const int64_t columns = std::min(width, n - first);
      for (int64_t i = 0; i < k; ++i) {
        float* const end_of_row =
            std::copy_n(w + i * row + first, columns, to + first * k + i * width);
        std::fill_n(end_of_row, width - columns, 0.0f);
      }
    }
  });
}

void packed_linear(int64_t m, int64_t k, int64_t n, const float* x, const void* packed,
                   const PackedEpilogue& epilogue, float* y) {
  if (m == 0 || n == 0) return;
  const PanelCut c = cut_panels(m, k, n, m * k * static_cast<int64_t>(sizeof(float)));
  const PanelMatrix w{k, n, static_cast<const float*>(packed)};
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = c.chunk_of(task) * c.rows;
      PanelProduct p{};
      p.m = std::min(c.rows, m - row);
      p.x_step = k;
      multiply_panels(p, c, task, w, row, epilogue, y, [&](PanelProduct& block, int64_t q) {
        block.k = std::min(kPanelDepth, k - q);
        block.x = x + row * k + q;
      });
    }
  };
  if (c.tasks() == 1)
    run(0, 1);
  else
    parallel_for(c.tasks(), 1, run);
}

}  // namespace argosy::cpu
