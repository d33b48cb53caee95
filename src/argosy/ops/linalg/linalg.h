#pragma once

#include "argosy/op/attrs.h"

// Products of matrices and vectors, and decompositions.
namespace argosy::ops {

// NumPy's matmul; the flags transpose the last two dimensions first. Dtypes promote.
ARGOSY_API Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false,
                         bool transpose_y = false);
// x [.., in] times weight [in, out] plus bias [out] (may be undefined).
ARGOSY_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace argosy::ops
