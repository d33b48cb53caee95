#pragma once

#include <stdint.h>

#include "argosy/kernels/cpu/packed.h"

// Products with a panel of packed weights. A panel is a matrix [k, width], row by row, of kPanel
// columns or, at the right edge, as few as 16 divides; columns past the matrix are zero.
namespace argosy::cpu {

inline constexpr int64_t kPanel = 64;

struct PanelProduct {
  int64_t m, k;     // rows of x; of the panel that are multiplied
  int64_t width;    // of the panel
  int64_t columns;  // of them in y
  const float* x;   // rows x_step apart
  int64_t x_step;
  const float* w;
  float* y;  // rows y_step apart
  int64_t y_step;
  bool first, last;         // y is written; the epilogue is applied
  PackedEpilogue epilogue;  // residual: rows y_step apart
};

namespace avx2 {
void panel_product(const PanelProduct& p);
// y[0, n) = post(y + residual), the bias being in it.
void finish_elements(const PackedEpilogue& e, float* y, int64_t n);
}  // namespace avx2
namespace avx512 {
void panel_product(const PanelProduct& p);
void finish_elements(const PackedEpilogue& e, float* y, int64_t n);
}  // namespace avx512

}  // namespace argosy::cpu
