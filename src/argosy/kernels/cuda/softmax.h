#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// Tensors are [outer, n, inner], contiguous, of one floating dtype; along n. y may be x.
void softmax(cudaStream_t stream, DType dtype, bool log, const void* x, void* y, int64_t outer,
             int64_t n, int64_t inner);
// From the forward's output y; dx may be y or dy.
void softmax_grad(cudaStream_t stream, DType dtype, bool log, const void* y, const void* dy,
                  void* dx, int64_t outer, int64_t n, int64_t inner);

}  // namespace argosy::cuda
