#pragma once

#include "argosy/op/attrs.h"

// Activation functions. All are elementwise but softmax and those that halve an axis.
namespace argosy::ops {

ARGOSY_API Tensor relu(const Tensor& x);
ARGOSY_API Tensor silu(const Tensor& x);
ARGOSY_API Tensor gelu(const Tensor& x, bool approximate = false);
ARGOSY_API Tensor log_sigmoid(const Tensor& x);
// log(1 + e^(beta x)) / beta, linear where beta x > threshold.
ARGOSY_API Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
// 1 where low < x < high, else 0, in x's dtype; a constant to autograd.
ARGOSY_API Tensor between(const Tensor& x, double low, double high);
// 1 where x > bound, else 0, in x's dtype; a constant to autograd.
ARGOSY_API Tensor above(const Tensor& x, double bound);
ARGOSY_API Tensor softmax(const Tensor& x, int64_t axis = -1);
// The gradient of x from y = softmax(x).
ARGOSY_API Tensor softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis);
ARGOSY_API Tensor log_softmax(const Tensor& x, int64_t axis = -1);

}  // namespace argosy::ops
