#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Tensors that are computed from indices alone. Outputs are contiguous.
namespace argosy::cuda {

// first + i * by. Integers count in int64, all others in double.
void arange(cudaStream_t stream, DType dtype, void* out, int64_t n, int64_t first, int64_t by);
void arange(cudaStream_t stream, DType dtype, void* out, int64_t n, double first, double by);

// n numbers from start to stop, counted from both ends; or base to the power of them.
void linspace(cudaStream_t stream, DType dtype, void* out, int64_t n, double start, double stop);
void logspace(cudaStream_t stream, DType dtype, void* out, int64_t n, double start, double stop,
              double base);

// `one` (of the host, read at once) on the diagonal of [rows, columns], zeros elsewhere.
void eye(cudaStream_t stream, int item_size, void* out, int64_t rows, int64_t columns,
         const void* one);

// Of matrices [rows, columns] what lies on or below (lower) the diagonal, or on or above it; zeros
// elsewhere. x may be out.
void triangle(cudaStream_t stream, int item_size, const void* x, void* out, int64_t matrices,
              int64_t rows, int64_t columns, int64_t diagonal, bool lower);

// Row r of out is row r of inputs[index[r]], of `bytes` bytes, or of zeros where there is none.
// Addresses of the device in memory of the host; at most kMostCandidates.
inline constexpr int kMostCandidates = 256;
void multiplex(cudaStream_t stream, const void* const* inputs, int count, DType index_dtype,
               const void* index, void* out, int64_t rows, int64_t bytes);

}  // namespace argosy::cuda
