#pragma once

#include "argosy/op/attrs.h"

// Tensors from nothing or from the form of another.
namespace argosy::ops {

ARGOSY_API Tensor full(const op::IntArray& shape, const op::Scalar& value, DType dtype);
ARGOSY_API Tensor full_like(const Tensor& x, const op::Scalar& value);
ARGOSY_API Tensor full_like(const Tensor& x, const op::Scalar& value, DType dtype);
ARGOSY_API Tensor zeros_like(const Tensor& x);
ARGOSY_API Tensor ones_like(const Tensor& x);
// x with zeros above (tril) or below (triu) its diagonal, moved up by `diagonal`.
ARGOSY_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
ARGOSY_API Tensor triu(const Tensor& x, int64_t diagonal = 0);
// A 0-d constant on the device of x.
ARGOSY_API Tensor constant(const op::Scalar& value, DType dtype, Place place = {});

}  // namespace argosy::ops
