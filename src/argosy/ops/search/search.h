#pragma once

#include "argosy/ops/creation/creation.h"

// Order, places and distinct values.
namespace argosy::ops {

struct IsinAttrs {
  bool assume_unique = false;  // changes nothing: what repeats costs no more here
  bool invert = false;
};
ARGOSY_ATTRS(IsinAttrs, assume_unique, invert)

// x with values added at x[.., indices[..], ..] along axis.
ARGOSY_API Tensor put_along_add(const Tensor& x, const Tensor& indices, const Tensor& values,
                                int64_t axis);
// x[.., indices[..], ..] along axis, in the shape of indices.
ARGOSY_API Tensor take_along(const Tensor& x, const Tensor& indices, int64_t axis);
// Zeros of x's shape and another dtype; reads x's shape only.
ARGOSY_API Tensor zeros_of(const Tensor& x, DType dtype);

}  // namespace argosy::ops
