#include <limits>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/activation/family.h"
#include "argosy/ops/creation/creation.h"

// Activations made of straight lines: the gradient's own gradient is itself.
namespace argosy::ops {
// Found by run_activation beside their attributes.
static cpu::LoopParams numbers(const LeakyReluAttrs& a) {
  return {a.negative_slope};
}
static cpu::LoopParams numbers(const HardtanhAttrs& a) {
  return {a.min, a.max};
}
static cpu::LoopParams numbers(const HardsigmoidAttrs& a) {
  return {a.slope, a.offset};
}
static cpu::LoopParams numbers(const ShrinkAttrs& a) {
  return {a.threshold};
}
static cpu::LoopParams numbers(const ThresholdedReluAttrs& a) {
  return {a.threshold, a.value};
}

namespace {

using op::NoAttrs;

void softshrink_infer(op::InferContext&, const ShrinkAttrs& a) {
  ARGOSY_CHECK(a.threshold >= 0, invalid_argument)
      << "[softshrink] threshold must not be negative, got " << a.threshold << '.';
}

#define ARGOSY_PIECEWISE_GRAD(name, Attrs, saved) \
  ARGOSY_ACTIVATION_GRAD(name, Attrs, saved, op::Save::nothing).gradient(linear_in_dy<Attrs>).done()

ARGOSY_PIECEWISE_GRAD(relu, NoAttrs, "y");
ARGOSY_PIECEWISE_GRAD(relu6, NoAttrs, "y");
ARGOSY_PIECEWISE_GRAD(leaky_relu, LeakyReluAttrs, "x");
ARGOSY_PIECEWISE_GRAD(hardtanh, HardtanhAttrs, "x");
ARGOSY_PIECEWISE_GRAD(hardsigmoid, HardsigmoidAttrs, "y");
ARGOSY_PIECEWISE_GRAD(softshrink, ShrinkAttrs, "x");
ARGOSY_PIECEWISE_GRAD(hardshrink, ShrinkAttrs, "x");
ARGOSY_PIECEWISE_GRAD(thresholded_relu, ThresholdedReluAttrs, "x");

ARGOSY_ACTIVATION_OF_Y(relu, NoAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.relu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.0, 0.0, 3.0])")
    .python("nn.functional.relu(x, name=None)")
    .inplace("relu_")
    .doc("max(x, 0).")
    .done();

ARGOSY_ACTIVATION_OF_Y(relu6, NoAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.relu6(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.0, 0.0, 3.0])")
    .python("nn.functional.relu6(x, name=None)")
    .doc("min(max(x, 0), 6).")
    .done();

ARGOSY_ACTIVATION_OF_X(leaky_relu, LeakyReluAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.leaky_relu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.02, 0.0, 3.0])")
    .python("nn.functional.leaky_relu(x, negative_slope=0.01, name=None)")
    .inplace("leaky_relu_")
    .doc("x where it is positive, negative_slope * x elsewhere.")
    .done();

ARGOSY_ACTIVATION_OF_X(hardtanh, HardtanhAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.hardtanh(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-1.0, 0.0, 1.0])")
    .python("nn.functional.hardtanh(x, min=-1.0, max=1.0, name=None)")
    .inplace("hardtanh_")
    .doc("x cut to [min, max].")
    .done();

ARGOSY_ACTIVATION_OF_Y(hardsigmoid, HardsigmoidAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.hardsigmoid(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.16667, 0.5, 1.0])")
    .python("nn.functional.hardsigmoid(x, slope=0.1666667, offset=0.5, name=None)")
    .doc("slope * x + offset, cut to [0, 1].")
    .done();

ARGOSY_ACTIVATION_OF_X(softshrink, ShrinkAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.softshrink(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-1.5, 0.0, 2.5])")
    .python("nn.functional.softshrink(x, threshold=0.5, name=None)")
    .alias("lambd", "threshold")
    .infer(softshrink_infer)
    .doc("x moved towards 0 by threshold (not negative), 0 where |x| <= threshold.")
    .done();

ARGOSY_ACTIVATION_OF_X(hardshrink, ShrinkAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.hardshrink(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-2.0, 0.0, 3.0])")
    .python("nn.functional.hardshrink(x, threshold=0.5, name=None)")
    .alias("lambd", "threshold")
    .doc("x where |x| > threshold, 0 elsewhere.")
    .done();

ARGOSY_ACTIVATION_OF_X(thresholded_relu, ThresholdedReluAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.thresholded_relu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.0, 0.0, 3.0])")
    .python("nn.functional.thresholded_relu(x, threshold=1.0, value=0.0, name=None)")
    .inplace("thresholded_relu_")
    .doc("x where it is above threshold, value elsewhere.")
    .done();

}  // namespace

Tensor relu(const Tensor& x) {
  return relu_op(x);
}
Tensor between(const Tensor& x, double low, double high) {
  return hardtanh_grad_op(x, ones_like(x), HardtanhAttrs{low, high});
}
Tensor above(const Tensor& x, double bound) {
  return thresholded_relu_grad_op(x, ones_like(x), ThresholdedReluAttrs{bound, 0});
}

}  // namespace argosy::ops
