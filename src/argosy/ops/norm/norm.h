#pragma once

#include "argosy/op/attrs.h"

// Normalizations. Statistics and the parameters of 16-bit inputs may be float32.
namespace argosy::ops {

// weight and bias may be undefined.
ARGOSY_API Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t begin_norm_axis, double epsilon);
ARGOSY_API Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t num_groups, double epsilon, bool channel_last);
// The p-norm over axes, kept with size 1; its gradient is 0 where the norm is.
ARGOSY_API Tensor norm_along(const Tensor& x, double p, const op::IntArray& axes);

}  // namespace argosy::ops
