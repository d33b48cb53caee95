#pragma once

#include <optional>

#include "argosy/op/attrs.h"

// Reductions over axes; None means all.
namespace argosy::ops {

// The sum of x over what broadcasting `like` to x's shape repeats; has like's shape. Reads like's
// shape only.
ARGOSY_API Tensor sum_like(const Tensor& x, const Tensor& like);

ARGOSY_API Tensor sum(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor mean(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                       bool keepdim = false);
ARGOSY_API Tensor max(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor min(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor prod(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                       bool keepdim = false);
ARGOSY_API Tensor logsumexp(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                            bool keepdim = false);
// Divides by n - correction.
ARGOSY_API Tensor var(const Tensor& x, const op::IntArray& axis, double correction,
                      bool keepdim = false);
ARGOSY_API Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);  // int64
ARGOSY_API Tensor any(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor all(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);

}  // namespace argosy::ops
