#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Softmax and normalizations of contiguous tensors. `type` is float16, bfloat16, float32 or float64
// and is that of all tensors but statistics, which are float32 (float64 for float64); 16-bit floats
// compute in float32. Results do not depend on the number of threads. An output may be an input.
namespace argosy::cpu {

// Tensors are [outer, n, inner]; along n.
ARGOSY_API void softmax(DType type, const void* x, void* y, int64_t outer, int64_t n,
                        int64_t inner);
ARGOSY_API void log_softmax(DType type, const void* x, void* y, int64_t outer, int64_t n,
                            int64_t inner);
// From the forward's output y.
ARGOSY_API void softmax_grad(DType type, const void* y, const void* dy, void* dx, int64_t outer,
                             int64_t n, int64_t inner);
ARGOSY_API void log_softmax_grad(DType type, const void* y, const void* dy, void* dx, int64_t outer,
                                 int64_t n, int64_t inner);

// Softmax and the negative log-likelihood of hard labels in one. x is [rows, n]; labels (int32 or
// int64) are checked by the caller: in [0, n) or ignore_index (loss 0). `probability` (the softmax)
// and `weight` (one of each class) may be null.
ARGOSY_API void cross_entropy(DType type, const void* x, DType label_type, const void* labels,
                              const void* weight, int64_t rows, int64_t n, int64_t ignore_index,
                              void* loss, void* probability);
// The same for x of [outer, n, inner] (labels and losses: [outer, inner], the softmax: [outer,
// inner, n]), where many rows side by side are worked on at once: rows of a few classes, and rows
// whose classes lie apart. Of float32 and float64; says for which.
ARGOSY_API bool cross_entropy_goes_by_columns(DType type, int64_t n, int64_t inner);
ARGOSY_API void cross_entropy_columns(DType type, const void* x, DType label_type,
                                      const void* labels, const void* weight, int64_t outer,
                                      int64_t n, int64_t inner, int64_t ignore_index, void* loss,
                                      void* probability);
// dx = (probability - one_hot(label)) * weight[label] * dloss[row]; zeros in ignored rows.
// dloss_stride 0: one dloss for all rows.
ARGOSY_API void cross_entropy_grad(DType type, const void* probability, DType label_type,
                                   const void* labels, const void* weight, const void* dloss,
                                   int64_t dloss_stride, int64_t rows, int64_t n,
                                   int64_t ignore_index, void* dx);
// The same of float16 or bfloat16 x, without keeping the softmax: statistics are two numbers of
// each row, from which the gradient makes it again. weight, loss and dloss are of loss_type. dx may
// be x.
ARGOSY_API void narrow_cross_entropy(DType type, const void* x, DType label_type,
                                     const void* labels, DType loss_type, const void* weight,
                                     int64_t rows, int64_t n, int64_t ignore_index, void* loss,
                                     float* statistics);
ARGOSY_API void narrow_cross_entropy_grad(DType type, const void* x, const float* statistics,
                                          DType label_type, const void* labels, DType loss_type,
                                          const void* weight, const void* dloss, int64_t rows,
                                          int64_t n, int64_t ignore_index, void* dx);

// ---- normalization of rows: x is [rows, n] ----
// y = (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(variance + epsilon). gamma and beta are [n]
// of `weight_type` (that of x, or float32 for 16-bit x) and may be null. mean may be null for
// rms_norm, where it is 0; statistics may be null where nobody wants them.
struct RowNorm {
  DType type;
  DType weight_type;
  int64_t rows, n;
  double epsilon;
  bool rms;  // root mean square: the mean is taken as 0
};
ARGOSY_API void layer_norm(const RowNorm& a, const void* x, const void* gamma, const void* beta,
                           void* y, void* mean, void* rstd);
// dgamma and dbeta (of weight_type) may be null, and so may dx.
ARGOSY_API void layer_norm_grad(const RowNorm& a, const void* x, const void* gamma,
                                const void* mean, const void* rstd, const void* dy, void* dx,
                                void* dgamma, void* dbeta);

// ---- normalization of channels: x is [n, channels, inner] ----
// NCHW: inner = H * W. NHWC: n = N * H * W, inner = 1. All parameters and statistics are [channels]
// in the statistics' dtype; gamma and beta may be null.
struct ChannelNorm {
  DType type;
  int64_t n, channels, inner;
};
// variance: without Bessel's correction.
ARGOSY_API void batch_norm_statistics(const ChannelNorm& a, const void* x, void* mean,
                                      void* variance);
ARGOSY_API void batch_norm_apply(const ChannelNorm& a, const void* x, const void* mean,
                                 const void* variance, double epsilon, const void* gamma,
                                 const void* beta, void* y);
// fixed: mean and variance were constants (evaluation), so dx = dy * gamma * rstd. Any output may
// be null.
ARGOSY_API void batch_norm_grad(const ChannelNorm& a, const void* x, const void* mean,
                                const void* variance, double epsilon, const void* gamma,
                                const void* dy, bool fixed, void* dx, void* dgamma, void* dbeta);

// x is [n, channels, inner] (channels_last: [n, inner, channels]); mean and variance [n, groups];
// gamma and beta [channels]. Instance norm: groups = channels.
struct GroupNorm {
  DType type;
  int64_t n, channels, inner, groups;
  double epsilon;
  bool channels_last;
};
ARGOSY_API void group_norm(const GroupNorm& a, const void* x, const void* gamma, const void* beta,
                           void* y, void* mean, void* variance);
ARGOSY_API void group_norm_grad(const GroupNorm& a, const void* x, const void* mean,
                                const void* variance, const void* gamma, const void* dy, void* dx,
                                void* dgamma, void* dbeta);

}  // namespace argosy::cpu
