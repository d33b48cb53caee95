#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Counts of numbers, vector products, and others that look at single elements.
namespace argosy::cuda {

// bounds[0], bounds[1]: the least and the greatest of x[n], n > 0, as doubles; nan if there is one.
// Real dtypes and bool.
void find_bounds(cudaStream_t stream, DType dtype, const void* x, int64_t n, double* bounds);

// counts[bins]: sums of weights (1 each where null) of the elements in each of equal parts of
// [low, high]. density: scaled to an integral of 1. Sums of weights that are not whole may differ
// in the last bit from run to run.
void histogram(cudaStream_t stream, DType dtype, const void* x, DType weight_dtype,
               const void* weights, int64_t n, double low, double high, int64_t bins, bool density,
               void* counts, DType counts_dtype);
void bin_edges(cudaStream_t stream, double low, double high, int64_t bins, float* edges);

// counts[x[i]] += weights[i] (1 where null). REQUIRES: 0 <= x[i] < size. The same holds for sums of
// weights.
void bincount(cudaStream_t stream, DType dtype, const void* x, DType weight_dtype,
              const void* weights, int64_t n, int64_t size, void* counts, DType counts_dtype);

// z = x cross y: vectors of three, `step` apart; numeric dtypes.
void cross(cudaStream_t stream, DType dtype, const void* x, const void* y, void* z, int64_t vectors,
           int64_t step);

// y = x, but epsilon where x is less; least[0] is the least of x that is below 0, else 0. Floating.
void floor_variance(cudaStream_t stream, DType dtype, const void* x, void* y, int64_t n,
                    double epsilon, double* least);

}  // namespace argosy::cuda
