#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// Normalization of rows: x is [rows, n], contiguous. y = (x - mean) * rstd * gamma + beta, rstd = 1
// / sqrt(variance + epsilon). gamma and beta are [n] of weight_dtype (that of x, or float32 beside
// 16-bit x) and may be null. Statistics are float32 (float64 for float64).
struct RowNorm {
  DType dtype, weight_dtype;
  int64_t rows, n;
  double epsilon;
  bool rms;  // the mean is taken as 0
};
void layer_norm(cudaStream_t stream, const RowNorm& a, const void* x, const void* gamma,
                const void* beta, void* y, void* mean, void* rstd);
// dgamma and dbeta (of weight_dtype) may be null; dx may be x or dy, mean null for rms. The sums
// over rows are taken in the same order in every run.
void layer_norm_grad(cudaStream_t stream, const RowNorm& a, const void* x, const void* gamma,
                     const void* mean, const void* rstd, const void* dy, void* dx, void* dgamma,
                     void* dbeta);

}  // namespace argosy::cuda
