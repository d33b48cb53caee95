#pragma once

#include "argosy/op/attrs.h"

// Products of matrices and vectors, and decompositions.
namespace argosy::ops {

// NumPy's matmul; the flags transpose the last two dimensions first. Dtypes promote.
ARGOSY_API Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false,
                         bool transpose_y = false);
// x [.., in] times weight [in, out] plus bias [out] (may be undefined).
ARGOSY_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
// (sum of |x|^p)^(1/p) over axis; p may be 0 and +-inf. The gradient is 0 where the norm is.
ARGOSY_API Tensor p_norm(const Tensor& x, double p, const op::IntArray& axis = op::IntArray::all(),
                         bool keepdim = false);
// z with x z = y (transpose: x^T z = y), x triangular.
ARGOSY_API Tensor triangular_solve(const Tensor& x, const Tensor& y, bool upper,
                                   bool transpose = false, bool unit = false);
ARGOSY_API Tensor solve(const Tensor& x, const Tensor& y);  // z with x z = y

}  // namespace argosy::ops
