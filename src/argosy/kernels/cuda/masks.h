#pragma once

#include "argosy/kernels/cuda/gather.h"

// Packing by masks of fewer than 2^31 elements; elements keep their order.
namespace argosy::cuda {

// *count, on the device, = how many are true.
void count_true(cudaStream_t stream, const bool* mask, int64_t n, int64_t* count);
// places[k] = the position of the k-th true element. There is room for all of them.
void true_positions(cudaStream_t stream, const bool* mask, int64_t n, int64_t* places);
// Coordinate d of position places[k] goes to to[d][k * step]. to[d] may be `places` if there is one
// dimension.
void unravel(cudaStream_t stream, const int64_t* places, int64_t count, int rank,
             const int64_t* shape, int64_t* const* to, int64_t step);
// target [n, row] = the rows of values [count, row_bytes], in order, where the mask is true; zeros
// elsewhere, and where values has no more rows.
void spread_true(cudaStream_t stream, void* target, const bool* mask, int64_t n, const void* values,
                 int64_t count, int64_t row_bytes);
// keep[i] = whether rows[i] is in [0, height) and not padding.
void good_rows(cudaStream_t stream, bool* keep, Index rows, int64_t n, int64_t height,
               int64_t padding);

}  // namespace argosy::cuda
