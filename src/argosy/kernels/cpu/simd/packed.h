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
  // Where not 0: x is turned, numbers of a row are so far apart and rows are beside each other.
  int64_t x_next;
  // Instead of x, where not null: a row of x is `segments` pieces of k / segments numbers, piece s
  // of row i at pieces[s * pieces_step + i].
  const float* const* pieces;
  int64_t segments, pieces_step;
  const float* w;
  float* y;  // rows y_step apart
  int64_t y_step;
  const float* next;  // the panel that will be multiplied after this, or null
  const float* soon;  // kPanel columns of k rows, soon_step apart, that are read or written next
  int64_t soon_step;  // and are far from here, or null
  bool x_is_far;      // rather than the next panel
  bool first, last;   // y is written; the epilogue is applied
  bool in_parts;      // the sum of these k is added to y, which else is where the sum begins
  PackedEpilogue epilogue;  // residual: rows y_step apart
};

// An output row of a convolution that has one input channel for each output channel, channels last.
// X: numbers, or codes of 8 bits.
template <class X>
struct DepthwiseRowOf {
  int64_t channels, in_width, out_width;
  int64_t kernel_rows, kernel_width, stride, dilation, pad;  // along the row
  const X* const* rows;  // of x, one for each row of the kernel; null: outside of the image
  const float* weights;  // [kernel_rows, kernel_width, weights_step]
  int64_t weights_step;
  PackedEpilogue epilogue;  // residual: of this row
  float* y;
  // Of codes: they stand for themselves less zero. The sum of a channel is multiplied by its factor
  // before the bias is added.
  int32_t zero;
  const float* factor;
};
using DepthwiseRow = DepthwiseRowOf<float>;
using DepthwiseCodeRow = DepthwiseRowOf<uint8_t>;

#define ARGOSY_PACKED_KERNELS                               \
  void panel_product(const PanelProduct& p);                \
  void depthwise_row(const DepthwiseRow& p);                \
  void depthwise_row(const DepthwiseCodeRow& p);            \
  /* y[0, n) = post(y + residual), the bias being in it. */ \
  void finish_elements(const PackedEpilogue& e, float* y, int64_t n);
namespace avx2 {
ARGOSY_PACKED_KERNELS
}  // namespace avx2
namespace avx512 {
ARGOSY_PACKED_KERNELS
}  // namespace avx512
#undef ARGOSY_PACKED_KERNELS

}  // namespace argosy::cpu
