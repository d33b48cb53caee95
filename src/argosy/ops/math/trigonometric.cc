#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/math/unary.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

constexpr double kDegree = 0.017453292519943295769;

Tensor one_minus_square(const Tensor& x) {
  return scale(square(x), -1, 1);
}
Tensor one_plus_square(const Tensor& x) {
  return scale(square(x), 1, 1);
}
Tensor cos_of(const Tensor& x);
Tensor sinh_of(const Tensor& x);
Tensor cosh_of(const Tensor& x);

Tensors tanh_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], one_minus_square(in[0]));
}
Tensors sigmoid_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], multiply(in[0], scale(in[0], -1, 1)));
}

Tensor tanh_curve(const Tensor& y) {
  return scale(y, -2);
}
Tensor sigmoid_curve(const Tensor& y) {
  return scale(y, -2, 1);
}

ARGOSY_FUSED_GRADIENT(tanh, "y", "dy (1 - y^2), the gradient of y = tanh(x).");
ARGOSY_FUSED_GRADIENT(sigmoid, "y", "dy y (1 - y), the gradient of y = sigmoid(x).");

Tensors sin_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), cos_of(c.in[0]));
}
Tensors cos_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), negative(sin(c.in[0])));
}
Tensors tan_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), one_plus_square(c.out(0)));
}
Tensors asin_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), rsqrt(one_minus_square(c.in[0])));
}
Tensors acos_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), negative(rsqrt(one_minus_square(c.in[0]))));
}
Tensors atan_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), reciprocal(one_plus_square(c.in[0])));
}
Tensors sinh_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), cosh_of(c.in[0]));
}
Tensors cosh_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), sinh_of(c.in[0]));
}
Tensors asinh_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), rsqrt(one_plus_square(c.in[0])));
}
// sqrt(x - 1) sqrt(x + 1), not sqrt(x^2 - 1): the same branch as acosh in the complex plane.
Tensors acosh_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), multiply(rsqrt(scale(c.in[0], 1, -1)), rsqrt(scale(c.in[0], 1, 1))));
}
Tensors atanh_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), reciprocal(one_minus_square(c.in[0])));
}
Tensors tanh_grad_rule(const GradCall& c, const NoAttrs&) {
  return tanh_grad_op(c.out(0), c.dy());
}
Tensors sigmoid_grad_rule(const GradCall& c, const NoAttrs&) {
  return sigmoid_grad_op(c.out(0), c.dy());
}
Tensors deg2rad_grad_rule(const GradCall& c, const NoAttrs&) {
  return scale(c.dy(), kDegree);
}
Tensors rad2deg_grad_rule(const GradCall& c, const NoAttrs&) {
  return scale(c.dy(), 1 / kDegree);
}

ARGOSY_FUNCTION(sin, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 6,
                "The sine of x in radians.")
    .example(R"(>>> argosy.sin(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.47943, 0.84147, 0.9093])")
    .done();
ARGOSY_FUNCTION(cos, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 6,
                "The cosine of x in radians.")
    .example(R"(>>> argosy.cos(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.87758, 0.5403, -0.41615])")
    .done();
ARGOSY_FUNCTION(tan, "(x, name=None)", kFunction, Save::nothing, Save::value, 10,
                "The tangent of x in radians.")
    .example(R"(>>> argosy.tan(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.5463, 1.5574, -2.185])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(asin, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 10,
                "The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1].")
    .example(R"(>>> argosy.asin(argosy.to_tensor([-0.5, 0.0, 0.5])).tolist()
[-0.5236, 0.0, 0.5236])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(acos, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 10,
                "The inverse cosine, in [0, pi]; nan outside [-1, 1].")
    .example(R"(>>> argosy.acos(argosy.to_tensor([-0.5, 0.0, 0.5])).tolist()
[2.0944, 1.5708, 1.0472])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(atan, "(x, name=None)", kFunction, Save::value, Save::nothing, 10,
                "The inverse tangent, in (-pi/2, pi/2).")
    .example(R"(>>> argosy.atan(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.46365, 0.7854, 1.1071])")
    .done();
ARGOSY_FUNCTION(sinh, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 10,
                "The hyperbolic sine.")
    .example(R"(>>> argosy.sinh(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.5211, 1.1752, 3.6269])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(cosh, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 10,
                "The hyperbolic cosine.")
    .example(R"(>>> argosy.cosh(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[1.1276, 1.5431, 3.7622])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(asinh, "(x, name=None)", kFunction, Save::value, Save::nothing, 12,
                "The inverse hyperbolic sine.")
    .example(R"(>>> argosy.asinh(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.48121, 0.88137, 1.4436])")
    .done();
ARGOSY_FUNCTION(acosh, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 12,
                "The inverse hyperbolic cosine; nan below 1.")
    .example(R"(>>> argosy.acosh(argosy.to_tensor([1.0, 2.0])).tolist()
[0.0, 1.317])")
    .done();
ARGOSY_FUNCTION(atanh, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 12,
                "The inverse hyperbolic tangent; nan outside [-1, 1].")
    .example(R"(>>> argosy.atanh(argosy.to_tensor([-0.5, 0.0, 0.5])).tolist()
[-0.54931, 0.0, 0.54931])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(deg2rad, "(x, name=None)", kReal | kBool, Save::nothing, Save::nothing, 1,
                "Degrees to radians.")
    .example(R"(>>> argosy.deg2rad(argosy.to_tensor([180.0, 90.0])).tolist()
[3.1416, 1.5708])")
    .done();
ARGOSY_FUNCTION(rad2deg, "(x, name=None)", kReal | kBool, Save::nothing, Save::nothing, 1,
                "Radians to degrees.")
    .example(R"(>>> argosy.rad2deg(argosy.to_tensor([3.14159, 1.5708])).tolist()
[180.0, 90.0])")
    .done();

// Also activations, so they have several public names.
ARGOSY_OP(tanh, NoAttrs)
    .python("tanh(x, name=None, *, out=None)")
    .python("nn.functional.tanh(x, name=None, *, out=None)")
    .method("tanh")
    .inplace("tanh_")
    .alias("input", "x")
    .doc("The hyperbolic tangent.")
    .example(R"(>>> argosy.tanh(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.46212, 0.76159, 0.96403])")
    .input("x", kFunction)
    .output("out", Save::value)
    .elementwise()
    .infer(infer_floating<NoAttrs>)
    .kernel("loops", run_function<cpu::tanh_loops, 6>)
    .strided()
    .on_loops()
    .gradient(tanh_grad_rule)
    .done();

ARGOSY_OP(sigmoid, NoAttrs)
    .python("nn.functional.sigmoid(x, name=None, *, out=None)")
    .python("sigmoid(x, name=None, *, out=None)")
    .method("sigmoid")
    .inplace("sigmoid_")
    .alias("input", "x")
    .doc("1 / (1 + exp(-x)).")
    .example(R"(>>> F = argosy.nn.functional
>>> F.sigmoid(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[0.1192, 0.5, 0.95257])")
    .input("x", kFunction)
    .output("out", Save::value)
    .elementwise()
    .infer(infer_floating<NoAttrs>)
    .kernel("loops", run_function<cpu::sigmoid_loops, 5>)
    .strided()
    .on_loops()
    .gradient(sigmoid_grad_rule)
    .done();

void stanh_run(op::KernelFrame& f, const StanhAttrs& a) {
  cpu::LoopParams p{a.scale_a, a.scale_b};
  run_floating(f, cpu::stanh_loops(), &p, 6);
}

// b tanh(a x) = y, so dy/dx = a (b - y^2 / b).
Tensors stanh_grad(const GradCall& c, const StanhAttrs& a) {
  return multiply(c.dy(), scale(square(c.out(0)), -a.scale_a / a.scale_b, a.scale_a * a.scale_b));
}

ARGOSY_OP(stanh, StanhAttrs)
    .python("stanh(x, scale_a=0.67, scale_b=1.7159, name=None)")
    .method("stanh")
    .doc("scale_b * tanh(scale_a * x).")
    .example(R"(>>> argosy.stanh(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-1.4957, 0.0, 1.6554])")
    .input("x", kReal)
    .output("out", Save::value)
    .elementwise()
    .infer(infer_floating<StanhAttrs>)
    .kernel("loops", stanh_run)
    .strided()
    .on_loops()
    .gradient(stanh_grad)
    .done();

Tensor cos_of(const Tensor& x) {
  return cos_op(x);
}
Tensor sinh_of(const Tensor& x) {
  return sinh_op(x);
}
Tensor cosh_of(const Tensor& x) {
  return cosh_op(x);
}

}  // namespace

Tensor sin(const Tensor& x) {
  return sin_op(x);
}
Tensor cos(const Tensor& x) {
  return cos_op(x);
}
Tensor tanh(const Tensor& x) {
  return tanh_op(x);
}
Tensor sigmoid(const Tensor& x) {
  return sigmoid_op(x);
}

}  // namespace argosy::ops
