#pragma once

#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::ops {

// x [N, C, H, W] between its elements, zero outside, at points [N, .., 2] given as (x, y) in
// elements, differentiated by these coordinates of each point; and the gradient of x in that.
Tensor slope_at_pixels(const Tensor& x, const Tensor& points, std::vector<int64_t> coordinates);
Tensor spread_at_pixels(const Tensor& like, const Tensor& points, const Tensor& dy);

}  // namespace argosy::ops
