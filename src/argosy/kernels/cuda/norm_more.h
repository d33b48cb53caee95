#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// For each place of n in x [outer, n, inner] the sum of x from `before` places before it to `after`
// behind.
void window_sum(cudaStream_t stream, DType dtype, const void* x, int64_t outer, int64_t n,
                int64_t inner, int64_t before, int64_t after, void* y);

// `steps` times v = W'u / (|W'u| + epsilon), u = Wv / (|Wv| + epsilon) in float64, W being x
// [outer, n, inner] with n first and the others flattened; u [n] and v [outer * inner] in place.
void power_iteration(cudaStream_t stream, DType dtype, const void* x, int64_t outer, int64_t n,
                     int64_t inner, int64_t steps, double epsilon, double* u, double* v);

}  // namespace argosy::cuda
