#pragma once

#include "argosy/kernels/cuda/runtime.h"

// What ops that rearrange elements need beside copies.
namespace argosy::cuda {

// n <= kMaxRank numbers of the host to the device, as arguments of a kernel.
void put_numbers(cudaStream_t stream, int64_t* target, const int64_t* numbers, int n);

// starts[i] = counts[0] + .. + counts[i - 1] for i <= n; n below 2^31. Counts below 0 count as 0.
void sum_before(cudaStream_t stream, int64_t* starts, const int64_t* counts, int64_t n);
// owner[k] = the i < n with starts[i] <= k < starts[i + 1], for all k < total.
void owners(cudaStream_t stream, int64_t* owner, const int64_t* starts, int64_t n, int64_t total);
// target [outer, n, inner] = sums of values [outer, total, inner] from starts[i] to starts[i + 1].
void add_repeats(cudaStream_t stream, DType dtype, void* target, const void* values,
                 const int64_t* starts, int64_t outer, int64_t n, int64_t total, int64_t inner);

// Element of values, which are contiguous, at coordinates c is added at offset + sum(c * strides)
// of target, if that is in [0, size). Strides are those of `values`' view.
void add_strided(cudaStream_t stream, void* target, int64_t size, int64_t offset,
                 const View& values, int64_t n);

}  // namespace argosy::cuda
