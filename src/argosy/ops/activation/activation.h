#pragma once

#include "argosy/op/attrs.h"

// Activation functions. All are elementwise but softmax and those that halve an axis.
namespace argosy::ops {

struct SoftmaxAttrs {
  int64_t axis = -1;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(SoftmaxAttrs, axis, dtype)

struct SoftmaxGradAttrs {
  int64_t axis = -1;
};
ARGOSY_ATTRS(SoftmaxGradAttrs, axis)

struct GeluAttrs {
  bool approximate = false;
};
ARGOSY_ATTRS(GeluAttrs, approximate)

struct LeakyReluAttrs {
  double negative_slope = 0.01;
};
ARGOSY_ATTRS(LeakyReluAttrs, negative_slope)

struct HardtanhAttrs {
  double min = -1, max = 1;
};
ARGOSY_ATTRS(HardtanhAttrs, min, max)

struct HardsigmoidAttrs {
  double slope = 0.1666667, offset = 0.5;
};
ARGOSY_ATTRS(HardsigmoidAttrs, slope, offset)

struct ShrinkAttrs {
  double threshold = 0.5;
};
ARGOSY_ATTRS(ShrinkAttrs, threshold)

struct ThresholdedReluAttrs {
  double threshold = 1, value = 0;
};
ARGOSY_ATTRS(ThresholdedReluAttrs, threshold, value)

struct EluAttrs {
  double alpha = 1;
};
ARGOSY_ATTRS(EluAttrs, alpha)

struct SeluAttrs {
  double scale = 1.0507009873554805, alpha = 1.6732632423543772;
};
ARGOSY_ATTRS(SeluAttrs, scale, alpha)

struct RreluAttrs {
  double lower = 1.0 / 8, upper = 1.0 / 3;
  bool training = true;
};
ARGOSY_ATTRS(RreluAttrs, lower, upper, training)

struct GumbelAttrs {
  double temperature = 1;
  bool hard = false;
  int64_t axis = -1;
};
ARGOSY_ATTRS(GumbelAttrs, temperature, hard, axis)

struct SoftplusAttrs {
  double beta = 1, threshold = 20;
};
ARGOSY_ATTRS(SoftplusAttrs, beta, threshold)

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
