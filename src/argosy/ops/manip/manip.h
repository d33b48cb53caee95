#pragma once

#include "argosy/op/attrs.h"

// Shape manipulation; views wherever strides allow.
namespace argosy::ops {

ARGOSY_API Tensor expand_like(const Tensor& x, const Tensor& like);   // broadcast to like's shape
ARGOSY_API Tensor reshape_like(const Tensor& x, const Tensor& like);  // same elements, like's shape

}  // namespace argosy::ops
