#pragma once

#include "argosy/tensor/tensor.h"

namespace argosy::passes {

// weight times a factor for each place of its first axis, or for each column of a matrix, or one
// for all: float64 [places] or [1]. Computed in float64 and rounded once, without a copy of the
// weight in float64. in_place: written where the weight is; it must be contiguous.
Tensor scaled_channels(const Tensor& weight, const Tensor& factor, bool first_axis,
                       bool in_place = false);

}  // namespace argosy::passes
