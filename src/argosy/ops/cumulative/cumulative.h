#pragma once

#include "argosy/tensor/tensor.h"

// Running results along an axis.
namespace argosy::ops {

ARGOSY_API Tensor cumsum(const Tensor& x, int64_t axis, bool reverse = false);
ARGOSY_API Tensor cumprod(const Tensor& x, int64_t axis);

}  // namespace argosy::ops
