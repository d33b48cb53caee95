#pragma once

#include <optional>

#include "argosy/op/attrs.h"

namespace argosy::ops {

// The sum of x over what broadcasting `like` to x's shape repeats; has like's shape. Reads like's
// shape only.
ARGOSY_API Tensor sum_like(const Tensor& x, const Tensor& like);
ARGOSY_API Tensor sum(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);

}  // namespace argosy::ops
