#pragma once

#include "argosy/cuda/call.h"

namespace argosy::cuda {

// A row-sparse tensor of the rows (int64 [n], values [n, width]) that are in [0, height) and not
// padding; the host waits for their number.
Tensor kept_rows(cudaStream_t stream, const Tensor& rows, const Tensor& values, int64_t height,
                 int64_t padding);

// The row-sparse x with sorted rows, each once, as ops::merge_rows gives; the host waits for their
// number.
Tensor merged_rows(cudaStream_t stream, const Tensor& x);

}  // namespace argosy::cuda
