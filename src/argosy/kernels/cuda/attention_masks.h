#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Masks of attention.
namespace argosy::cuda {

// y = x [batch, rows, columns] with `value` where the column comes after the row.
void fill_future(cudaStream_t stream, DType dtype, const void* x, int64_t batch, int64_t rows,
                 int64_t columns, double value, void* y);

// out [rows, keys]: is the row of the query in the same sequence as the key? starts: sequences + 1
// int32 or int64 numbers, which rise and stay within rows and keys; causal: keys of a sequence
// count up to the row's place in it.
void varlen_mask(cudaStream_t stream, const void* starts_q, DType dtype_q, const void* starts_k,
                 DType dtype_k, int64_t sequences, int64_t rows, int64_t keys, bool causal,
                 bool* out);

}  // namespace argosy::cuda
