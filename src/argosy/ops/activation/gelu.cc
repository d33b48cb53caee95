#include <numbers>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/activation/family.h"
#include "argosy/ops/math/math.h"

namespace argosy::ops {
// Found by run_activation beside their attributes.
static cpu::LoopParams numbers(const GeluAttrs& a) {
  return {a.approximate ? 1.0 : 0.0};
}

namespace {

using op::GradCall;

constexpr double kSqrt1_2 = 1 / std::numbers::sqrt2;
constexpr double kCubic = 0.044715;
constexpr double kTanhRate = kSqrt1_2 * 2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)

Tensor second_derivative(const Tensor& x, const GeluAttrs& a) {
  Tensor x2 = square(x);
  if (!a.approximate) {
    Tensor density = scale(exp(scale(x2, -0.5)), kSqrt1_2 * std::numbers::inv_sqrtpi);
    return multiply(density, scale(x2, -1, 2));
  }
  // f = x (1 + t) / 2 with t = tanh(u), u = k (x + c x^3)
  const double k = kTanhRate;
  Tensor t = tanh(scale(multiply(x, scale(x2, kCubic, 1)), k));
  Tensor dt = scale(square(t), -1, 1);
  Tensor du = scale(x2, 3 * k * kCubic, k);
  Tensor curve = subtract(scale(x2, 3 * k * kCubic), multiply(multiply(x, t), square(du)));
  return multiply(dt, add(du, curve));
}

Tensor erf(const Tensor& x) {
  static const op::OpDef& def = op::get("erf");
  return std::move(op::dispatch(def, op::Inputs({&x, 1}), def.attrs->defaults)[0]);
}

Tensors gelu_parts(const op::Inputs& in, const GeluAttrs& a) {
  Tensor x = as_computed(in[0]);
  Tensor t;  // 2 * distribution - 1
  if (a.approximate)
    t = tanh(scale(multiply(x, scale(square(x), kCubic, 1)), kTanhRate));
  else
    t = erf(scale(x, kSqrt1_2));
  return cast(multiply(x, scale(t, 0.5, 0.5)), in[0].dtype());
}

ARGOSY_OP(gelu_grad, GeluAttrs)
    .doc("Gradient of gelu from x and the gradient of its output.")
    .input("x", kFloating, op::Save::value)
    .input("dy", kFloating, op::Save::value)
    .output("dx")
    .elementwise()
    .kernel("loops", run_activation<GeluAttrs, cpu::gelu_grad_loops, 12>)
    .strided()
    .on_loops()
    .gradient(curved<GeluAttrs, second_derivative>)
    .done();

ARGOSY_ACTIVATION_OF_X(gelu, GeluAttrs, 10)
    .example(R"(>>> F = argosy.nn.functional
>>> F.gelu(argosy.to_tensor([-2.0, 0.0, 3.0])).tolist()
[-0.0455, 0.0, 2.996])")
    .doc(
        "x times the normal distribution function of x; approximate=True takes the form with tanh.")
    .paper("1606.08415")
    .compose(gelu_parts)
    .done();

}  // namespace

Tensor gelu(const Tensor& x, bool approximate) {
  return gelu_op(x, GeluAttrs{approximate});
}

}  // namespace argosy::ops
