#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/math/unary.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

constexpr double kLn2 = 0.693147180559945309417, kLn10 = 2.302585092994045684018;

// --- fused gradients and what they mean in other ops ---

Tensors sqrt_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], scale(reciprocal(in[0]), 0.5));
}
Tensors rsqrt_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], scale(multiply(in[0], square(in[0])), -0.5));
}
Tensors square_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], scale(in[0], 2));
}
Tensors reciprocal_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return chain(in[1], negative(square(in[0])));
}
Tensors log_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return divide(in[1], conj_if_complex(in[0]));
}

Tensor sqrt_curve(const Tensor& y) {
  return scale(reciprocal(square(y)), -0.5);
}
Tensor rsqrt_curve(const Tensor& y) {
  return scale(square(y), -1.5);
}
Tensor square_curve(const Tensor& x) {
  return full_like(x, 2);
}
Tensor reciprocal_curve(const Tensor& y) {
  return scale(y, -2);
}
Tensor log_curve(const Tensor& x) {
  return negative(reciprocal(square(x)));
}

ARGOSY_FUSED_GRADIENT(sqrt, "y", "dy / (2 y), the gradient of y = sqrt(x).");
ARGOSY_FUSED_GRADIENT(rsqrt, "y", "-dy y^3 / 2, the gradient of y = 1 / sqrt(x).");
ARGOSY_FUSED_GRADIENT(square, "x", "2 x dy, the gradient of x^2.");
ARGOSY_FUSED_GRADIENT(reciprocal, "y", "-dy y^2, the gradient of y = 1 / x.");
ARGOSY_FUSED_GRADIENT(log, "x", "dy / x, the gradient of log(x).");

Tensors sqrt_grad_rule(const GradCall& c, const NoAttrs&) {
  return sqrt_grad_op(c.out(0), c.dy());
}
Tensors rsqrt_grad_rule(const GradCall& c, const NoAttrs&) {
  return rsqrt_grad_op(c.out(0), c.dy());
}
Tensors reciprocal_grad_rule(const GradCall& c, const NoAttrs&) {
  return reciprocal_grad_op(c.out(0), c.dy());
}
Tensors square_grad_rule(const GradCall& c, const NoAttrs&) {
  return square_grad_op(c.in[0], c.dy());
}
Tensors log_grad_rule(const GradCall& c, const NoAttrs&) {
  return log_grad_op(c.in[0], c.dy());
}
Tensors exp_grad_rule(const GradCall& c, const NoAttrs&) {
  return chain(c.dy(), c.out(0));
}
Tensors expm1_grad_rule(const GradCall& c, const NoAttrs&) {
  return add(chain(c.dy(), c.out(0)), c.dy());
}
Tensors log2_grad_rule(const GradCall& c, const NoAttrs&) {
  return divide(c.dy(), conj_if_complex(scale(c.in[0], kLn2)));
}
Tensors log10_grad_rule(const GradCall& c, const NoAttrs&) {
  return divide(c.dy(), conj_if_complex(scale(c.in[0], kLn10)));
}
Tensors log1p_grad_rule(const GradCall& c, const NoAttrs&) {
  return divide(c.dy(), conj_if_complex(scale(c.in[0], 1, 1)));
}

ARGOSY_FUNCTION(sqrt, "(x, name=None, *, out=None)", kFunction, Save::nothing, Save::value, 1,
                "The square root; nan for negative reals.")
    .example(R"(>>> argosy.sqrt(argosy.to_tensor([1.0, 4.0])).tolist()
[1.0, 2.0])")
    .done();
ARGOSY_FUNCTION(rsqrt, "(x, name=None, *, out=None)", kFunction, Save::nothing, Save::value, 2,
                "1 / sqrt(x); inf at 0, nan for negative reals.")
    .example(R"(>>> argosy.rsqrt(argosy.to_tensor([1.0, 4.0])).tolist()
[1.0, 0.5])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(reciprocal, "(x, name=None)", kFunction, Save::nothing, Save::value, 1, "1 / x.")
    .example(R"(>>> argosy.reciprocal(argosy.to_tensor([1.0, 4.0])).tolist()
[1.0, 0.25])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(exp, "(x, name=None, *, out=None)", kFunction, Save::nothing, Save::value, 4,
                "e to the power x.")
    .example(R"(>>> argosy.exp(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[1.6487, 2.7183, 7.3891])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(expm1, "(x, name=None, *, out=None)", kFunction, Save::nothing, Save::value, 6,
                "e^x - 1, exact near 0.")
    .example(R"(>>> argosy.expm1(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.64872, 1.7183, 6.3891])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(log, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 4,
                "The natural logarithm; -inf at 0, nan for negative reals.")
    .example(R"(>>> argosy.log(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[-0.69315, 0.0, 0.69315])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(log2, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 5,
                "The logarithm to base 2.")
    .example(R"(>>> argosy.log2(argosy.to_tensor([1.0, 8.0])).tolist()
[0.0, 3.0])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(log10, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 5,
                "The logarithm to base 10.")
    .example(R"(>>> argosy.log10(argosy.to_tensor([1.0, 100.0])).tolist()
[0.0, 2.0])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();
ARGOSY_FUNCTION(log1p, "(x, name=None, *, out=None)", kFunction, Save::value, Save::nothing, 6,
                "log(1 + x), exact near 0.")
    .example(R"(>>> argosy.log1p(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.40547, 0.69315, 1.0986])")
    .done();

ARGOSY_OP(square, NoAttrs)
    .python("square(x, name=None)")
    .method("square")
    .inplace("square_")
    .alias("input", "x")
    .doc("x * x; integers stay integers.")
    .example(R"(>>> argosy.square(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.25, 1.0, 4.0])")
    .input("x", kNumeric, Save::value)
    .output("out")
    .elementwise()
    .kernel("loops", run_loops<cpu::square_loops>)
    .strided()
    .on_loops()
    .gradient(square_grad_rule)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace

Tensor sqrt(const Tensor& x) {
  return sqrt_op(x);
}
Tensor rsqrt(const Tensor& x) {
  return rsqrt_op(x);
}
Tensor reciprocal(const Tensor& x) {
  return reciprocal_op(x);
}
Tensor square(const Tensor& x) {
  return square_op(x);
}
Tensor exp(const Tensor& x) {
  return exp_op(x);
}
Tensor log(const Tensor& x) {
  return log_op(x);
}
Tensor log1p(const Tensor& x) {
  return log1p_op(x);
}

}  // namespace argosy::ops
