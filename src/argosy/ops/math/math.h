#pragma once

#include "argosy/tensor/tensor.h"

// Elementwise arithmetic, comparison and functions of one number. Operands broadcast; dtypes
// promote.
namespace argosy::ops {

ARGOSY_API Tensor add(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor add_(const Tensor& x, const Tensor& y);  // in place
ARGOSY_API Tensor subtract(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor multiply(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor divide(const Tensor& x, const Tensor& y);  // floating result
// The complex conjugate; real tensors as they are.
ARGOSY_API Tensor conj_if_complex(const Tensor& x);
ARGOSY_API Tensor negative(const Tensor& x);
ARGOSY_API Tensor cast(const Tensor& x, DType dtype);
// x * scale + bias
ARGOSY_API Tensor scale(const Tensor& x, double scale, double bias = 0);

}  // namespace argosy::ops
