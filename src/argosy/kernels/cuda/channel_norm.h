#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Normalizations with parameters for each channel: batch, group and instance norm. Statistics,
// gamma, beta and their gradients are float32 (float64 for float64 x); gamma and beta may be null.
namespace argosy::cuda {

// x is [n, channels, inner], or [n, inner, channels] if last; contiguous.
struct Image {
  DType dtype;
  int64_t n, channels, inner;
  bool last;
};

// Of each channel over all samples; variance without Bessel's correction. running_mean and
// running_var (of running_dtype; both may be null) become momentum * themselves plus the rest of
// the new.
struct Running {
  void *mean, *variance;
  DType mean_dtype, variance_dtype;
  double momentum;
};
void batch_statistics(cudaStream_t stream, const Image& a, const void* x, void* mean,
                      void* variance, const Running& running);
// y from mean and variance; with `running` these are made of x first, and it is updated.
void batch_norm(cudaStream_t stream, const Image& a, const void* x, const Running* running,
                void* mean, void* variance, double epsilon, const void* gamma, const void* beta,
                void* y);
// fixed: mean and variance were constants. dgamma and dbeta may be null.
void batch_norm_grad(cudaStream_t stream, const Image& a, const void* x, const void* mean,
                     const void* variance, double epsilon, const void* gamma, const void* dy,
                     bool fixed, void* dx, void* dgamma, void* dbeta);

// mean and variance [n, groups].
void group_norm(cudaStream_t stream, const Image& a, int64_t groups, double epsilon, const void* x,
                const void* gamma, const void* beta, void* y, void* mean, void* variance);
void group_norm_grad(cudaStream_t stream, const Image& a, int64_t groups, double epsilon,
                     const void* x, const void* mean, const void* variance, const void* gamma,
                     const void* dy, void* dx, void* dgamma, void* dbeta);

}  // namespace argosy::cuda
