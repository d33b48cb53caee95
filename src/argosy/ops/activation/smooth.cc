#include "argosy/ops/activation/activation.h"
#include "argosy/ops/activation/family.h"
#include "argosy/ops/math/math.h"

// Curved activations. Their gradient is one fused kernel, whose own gradient is made of other ops.
namespace argosy::ops {
// Found by run_activation beside their attributes.
static cpu::LoopParams numbers(const EluAttrs& a) {
  return {a.alpha};
}
static cpu::LoopParams numbers(const SeluAttrs& a) {
  return {a.scale, a.alpha};
}
static cpu::LoopParams numbers(const SoftplusAttrs& a) {
  return {a.beta, a.threshold};
}

namespace {

using op::NoAttrs;

Tensor one_minus(const Tensor& x) {
  return scale(x, -1, 1);
}
// min(x, 0)
Tensor negative_part(const Tensor& x) {
  return negative(relu(negative(x)));
}
// 1 where x <= 0, else 0.
Tensor not_above_0(const Tensor& x) {
  return one_minus(above(x, 0));
}

Tensors silu_parts(const op::Inputs& in, const NoAttrs&) {
  Tensor x = as_computed(in[0]);
  return cast(multiply(x, sigmoid(x)), in[0].dtype());
}

// --- how the slope of each changes with what its gradient saves ---

Tensor elu_curve(const Tensor& x, const EluAttrs& a) {
  return multiply(not_above_0(x), scale(exp(negative_part(x)), a.alpha));
}
Tensor celu_curve(const Tensor& x, const EluAttrs& a) {
  const double rate = 1 / a.alpha;
  return multiply(not_above_0(x), scale(exp(scale(negative_part(x), rate)), rate));
}
Tensor selu_curve(const Tensor& y, const SeluAttrs&) {
  return not_above_0(y);
}
Tensor silu_curve(const Tensor& x, const NoAttrs&) {
  Tensor s = sigmoid(x);
  Tensor inner = scale(multiply(x, scale(s, -2, 1)), 1, 2);
  return multiply(multiply(s, one_minus(s)), inner);
}
Tensor mish_curve(const Tensor& x, const NoAttrs&) {
  // The slope is t + x u with t = tanh(softplus(x)), whose slope is u.
  Tensor t = tanh(softplus(x)), s = sigmoid(x);
  Tensor u = multiply(one_minus(square(t)), s);
  Tensor du = multiply(u, subtract(one_minus(s), scale(multiply(t, s), 2)));
  return add(scale(u, 2), multiply(x, du));
}
Tensor softsign_curve(const Tensor& x, const NoAttrs&) {
  return scale(multiply(sign(x), pow(scale(abs(x), 1, 1), -3.0)), -2);
}
Tensor tanhshrink_curve(const Tensor& x, const NoAttrs&) {
  Tensor t = tanh(x);
  return scale(multiply(t, one_minus(square(t))), 2);
}
Tensor log_sigmoid_curve(const Tensor& x, const NoAttrs&) {
  return negative(multiply(sigmoid(x), sigmoid(negative(x))));
}
Tensor softplus_curve(const Tensor& x, const SoftplusAttrs& a) {
  Tensor scaled = scale(x, a.beta), s = sigmoid(scaled);
  return multiply(one_minus(above(scaled, a.threshold)), scale(multiply(s, one_minus(s)), a.beta));
}
Tensor hardswish_curve(const Tensor& x, const NoAttrs&) {
  return scale(between(x, -3, 3), 1.0 / 3);
}

#define ARGOSY_SMOOTH_GRAD(name, Attrs, saved)                \
  ARGOSY_ACTIVATION_GRAD(name, Attrs, saved, op::Save::value) \
      .gradient(curved<Attrs, name##_curve>)                  \
      .done()

ARGOSY_SMOOTH_GRAD(elu, EluAttrs, "x");
ARGOSY_SMOOTH_GRAD(celu, EluAttrs, "x");
ARGOSY_SMOOTH_GRAD(selu, SeluAttrs, "y");
ARGOSY_SMOOTH_GRAD(silu, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(mish, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(softsign, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(tanhshrink, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(log_sigmoid, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(softplus, SoftplusAttrs, "x");
ARGOSY_SMOOTH_GRAD(hardswish, NoAttrs, "x");

void celu_infer(op::InferContext&, const EluAttrs& a) {
  ARGOSY_CHECK(a.alpha != 0, invalid_argument)
      << "[celu] alpha must not be 0. Do this: pass alpha=1.0, or use relu.";
}
void selu_infer(op::InferContext&, const SeluAttrs& a) {
  ARGOSY_CHECK(a.scale > 1, invalid_argument)
      << "[selu] scale must be greater than 1.0, got " << a.scale << '.';
  ARGOSY_CHECK(a.alpha >= 0, invalid_argument)
      << "[selu] alpha must not be negative, got " << a.alpha << '.';
}

ARGOSY_ACTIVATION_OF_X(elu, EluAttrs, 5)
    .example(R"(>>> F = argosy.nn.functional
>>> F.elu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.86466, 0.0, 3.0])")
    .python("nn.functional.elu(x, alpha=1.0, name=None)")
    .inplace("elu_")
    .doc("x where it is positive, alpha * (e^x - 1) elsewhere.")
    .paper("1511.07289")
    .done();

ARGOSY_ACTIVATION_OF_X(celu, EluAttrs, 5)
    .example(R"(>>> F = argosy.nn.functional
>>> F.celu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.86466, 0.0, 3.0])")
    .python("nn.functional.celu(x, alpha=1.0, name=None)")
    .infer(celu_infer)
    .doc("max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)).")
    .paper("1704.07483")
    .done();

ARGOSY_ACTIVATION_OF_Y(selu, SeluAttrs, 5)
    .example(R"(>>> F = argosy.nn.functional
>>> F.selu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-1.5202, 0.0, 3.1521])")
    .python("nn.functional.selu(x, scale=1.0507009873554805, alpha=1.6732632423543772, name=None)")
    .infer(selu_infer)
    .doc("scale * x where x is positive, scale * alpha * (e^x - 1) elsewhere.")
    .paper("1706.02515")
    .done();

ARGOSY_ACTIVATION_OF_X(silu, NoAttrs, 4)
    .example(R"(>>> F = argosy.nn.functional
>>> F.silu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.23841, 0.0, 2.8577])")
    .python("nn.functional.swish(x, name=None)")
    .inplace("silu_")
    .doc("x * sigmoid(x).")
    .compose(silu_parts)
    .paper("1702.03118")
    .done();

ARGOSY_ACTIVATION_OF_X(mish, NoAttrs, 10)
    .example(R"(>>> F = argosy.nn.functional
>>> F.mish(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.2525, 0.0, 2.9865])")
    .python("nn.functional.mish(x, name=None)")
    .doc("x * tanh(log(1 + e^x)).")
    .paper("1908.08681")
    .done();

ARGOSY_ACTIVATION_OF_X(softsign, NoAttrs, 2)
    .example(R"(>>> F = argosy.nn.functional
>>> F.softsign(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.66667, 0.0, 0.75])")
    .python("nn.functional.softsign(x, name=None)")
    .doc("x / (1 + |x|).")
    .done();

ARGOSY_ACTIVATION_OF_X(tanhshrink, NoAttrs, 6)
    .example(R"(>>> F = argosy.nn.functional
>>> F.tanhshrink(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-1.036, 0.0, 2.0049])")
    .python("nn.functional.tanhshrink(x, name=None)")
    .doc("x - tanh(x).")
    .amp(op::Amp::full, op::Amp::follow)
    .done();

ARGOSY_ACTIVATION_OF_X(log_sigmoid, NoAttrs, 8)
    .example(R"(>>> F = argosy.nn.functional
>>> F.log_sigmoid(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-2.1269, -0.69315, -0.048587])")
    .python("nn.functional.log_sigmoid(x, name=None)")
    .python("nn.functional.logsigmoid(x, name=None)")
    .doc("log(sigmoid(x)), exact for large |x|.")
    .done();

ARGOSY_ACTIVATION_OF_X(softplus, SoftplusAttrs, 8)
    .example(R"(>>> F = argosy.nn.functional
>>> F.softplus(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.12693, 0.69315, 3.0486])")
    .python("nn.functional.softplus(x, beta=1, threshold=20, name=None, *, out=None)")
    .doc("log(1 + e^(beta x)) / beta; x where beta x > threshold.")
    .amp(op::Amp::full, op::Amp::follow)
    .done();

ARGOSY_ACTIVATION_OF_X(hardswish, NoAttrs, 1)
    .example(R"(>>> F = argosy.nn.functional
>>> F.hardswish(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.33333, 0.0, 3.0])")
    .python("nn.functional.hardswish(x, name=None)")
    .doc("x * min(max(x + 3, 0), 6) / 6.")
    .paper("1905.02244")
    .done();

}  // namespace

Tensor silu(const Tensor& x) {
  return silu_op(x);
}
Tensor log_sigmoid(const Tensor& x) {
  return log_sigmoid_op(x);
}
Tensor softplus(const Tensor& x, double beta, double threshold) {
  return softplus_op(x, SoftplusAttrs{beta, threshold});
}

}  // namespace argosy::ops
