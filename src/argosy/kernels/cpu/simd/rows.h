#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"

namespace argosy::cpu {

// The floating dtypes, as tables here count them.
inline constexpr int kFloatings = 4;
constexpr int floating_index(DType t) {
  return t == DType::float16 ? 0 : t == DType::bfloat16 ? 1 : t == DType::float32 ? 2 : 3;
}

inline constexpr int kLossColumns = 64;

// One row of n contiguous elements each. scratch: room for 3 n elements of the computing type
// (float or double). An output may be an input.
struct SoftmaxKernels {
  using Forward = void (*)(const void* x, void* y, int64_t n, void* scratch);
  using Backward = void (*)(const void* y, const void* dy, void* dx, int64_t n, void* scratch);
  // Returns the logarithm of the sum of exponents less x[label]; writes the softmax if `y`.
  using Loss = double (*)(const void* x, int64_t label, void* y, int64_t n, void* scratch);
  // The same for `width` rows side by side, at most kLossColumns: element k of row j is
  // x[k * stride + j]. y, [n, width], gets the softmax, and base[j] the logarithm of the sum of
  // exponents. float and double alone.
  using LossColumns = void (*)(const void* x, int64_t stride, void* y, int64_t n, int64_t width,
                               double* base);
  // y * scale, less scale at label.
  using LossGrad = void (*)(const void* y, int64_t label, double scale, void* dx, int64_t n,
                            void* scratch);
  // The same for small floats, whose softmax nobody keeps: statistics are the greatest of x and the
  // factor of exp(x - greatest) that makes it; what it gives in float32 is what the two above do.
  using NarrowLoss = double (*)(const void* x, int64_t label, float* statistics, int64_t n,
                                void* scratch);
  using NarrowLossGrad = void (*)(const void* x, const float* statistics, int64_t label,
                                  double scale, void* dx, int64_t n, void* scratch);
  Forward softmax[kFloatings], log_softmax[kFloatings];
  Backward softmax_grad[kFloatings], log_softmax_grad[kFloatings];
  Loss loss[kFloatings];
  LossColumns loss_columns[kFloatings];  // null for the small ones
  LossGrad loss_grad[kFloatings];
  NarrowLoss narrow_loss[2];  // float16, bfloat16
  NarrowLossGrad narrow_loss_grad[2];
};

struct NormKernels {
  // gamma and beta are of the computing type; any may be null.
  using Row = void (*)(const void* x, const void* gamma, const void* beta, void* y, int64_t n,
                       double epsilon, bool rms, double* mean, double* rstd, void* scratch);
  // Adds to dgamma and dbeta, of the computing type; they and dx may be null.
  using RowGrad = void (*)(const void* x, const void* gamma, double mean, double rstd, bool rms,
                           const void* dy, void* dx, void* dgamma, void* dbeta, int64_t n,
                           void* scratch);
  // y = (x - m) * a + b. Columns: rows of `width` contiguous elements, m, a, b one a column.
  using Affine = void (*)(const void* x, void* y, int64_t n, double m, double a, double b);
  using AffineColumns = void (*)(const void* x, void* y, int64_t rows, int64_t width,
                                 const double* m, const double* a, const double* b);
  // dx = c1 * dy + c2 * (x - m) + c3.
  using Affine2 = void (*)(const void* x, const void* dy, void* dx, int64_t n, double m, double c1,
                           double c2, double c3);
  using Affine2Columns = void (*)(const void* x, const void* dy, void* dx, int64_t rows,
                                  int64_t width, const double* m, const double* c1,
                                  const double* c2, const double* c3);
  // s1 += sum of dy, s2 += sum of dy * (x - m).
  using Pair = void (*)(const void* x, const void* dy, int64_t n, double m, double* s1, double* s2);
  using PairColumns = void (*)(const void* x, const void* dy, int64_t rows, int64_t width,
                               const double* m, double* s1, double* s2);
  Row row[kFloatings];
  RowGrad row_grad[kFloatings];
  Affine affine[kFloatings];
  AffineColumns affine_columns[kFloatings];
  Affine2 affine2[kFloatings];
  Affine2Columns affine2_columns[kFloatings];
  Pair pair[kFloatings];
  PairColumns pair_columns[kFloatings];
};

namespace avx2 {
extern const SoftmaxKernels softmax_kernels;
[[gnu::weak]] extern const SoftmaxKernels double_softmax_kernels;  // see tables.h
extern const NormKernels norm_kernels;
}  // namespace avx2
namespace avx512 {
extern const SoftmaxKernels softmax_kernels;
[[gnu::weak]] extern const SoftmaxKernels double_softmax_kernels;  // see tables.h
extern const NormKernels norm_kernels;
}  // namespace avx512

}  // namespace argosy::cpu
