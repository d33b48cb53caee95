#include "argosy/ops/activation/activation.h"
#include "argosy/ops/activation/family.h"
#include "argosy/ops/math/math.h"

// Curved activations. Their gradient is one fused kernel; where a second derivative is wanted it
// opens into the ops that its formula names.
namespace argosy::ops {
namespace {

using op::Inputs;
using op::NoAttrs;

struct AlphaAttrs {
  double alpha = 1;
};
ARGOSY_ATTRS(AlphaAttrs, alpha)
struct SeluAttrs {
  double scale = 1.0507009873554805, alpha = 1.6732632423543772;
};
ARGOSY_ATTRS(SeluAttrs, scale, alpha)
struct SoftplusAttrs {
  double beta = 1, threshold = 20;
};
ARGOSY_ATTRS(SoftplusAttrs, beta, threshold)

cpu::LoopParams numbers(const AlphaAttrs& a) {
  return {a.alpha};
}
cpu::LoopParams numbers(const SeluAttrs& a) {
  return {a.scale, a.alpha};
}
cpu::LoopParams numbers(const SoftplusAttrs& a) {
  return {a.beta, a.threshold};
}

Tensor one_minus(const Tensor& x) {
  return scale(x, -1, 1);
}
// min(x, 0)
Tensor negative_part(const Tensor& x) {
  return negative(relu(negative(x)));
}
// positive where x > 0, slope elsewhere.
Tensor either(const Tensor& x, double positive, const Tensor& slope) {
  Tensor mask = above(x, 0);
  return add(scale(mask, positive), multiply(one_minus(mask), slope));
}

Tensors elu_grad_parts(const Inputs& in, const AlphaAttrs& a) {
  return multiply(in[1], either(in[0], 1, scale(exp(negative_part(in[0])), a.alpha)));
}
Tensors celu_grad_parts(const Inputs& in, const AlphaAttrs& a) {
  return multiply(in[1], either(in[0], 1, exp(scale(negative_part(in[0]), 1 / a.alpha))));
}
Tensors selu_grad_parts(const Inputs& in, const SeluAttrs& a) {
  return multiply(in[1], either(in[0], a.scale, scale(in[0], 1, a.scale * a.alpha)));
}
Tensors silu_grad_parts(const Inputs& in, const NoAttrs&) {
  Tensor s = sigmoid(in[0]);
  return multiply(in[1], multiply(s, scale(multiply(in[0], one_minus(s)), 1, 1)));
}
Tensors mish_grad_parts(const Inputs& in, const NoAttrs&) {
  Tensor t = tanh(softplus(in[0]));
  Tensor slope = multiply(one_minus(square(t)), sigmoid(in[0]));
  return multiply(in[1], add(t, multiply(in[0], slope)));
}
Tensors softsign_grad_parts(const Inputs& in, const NoAttrs&) {
  Tensor size = add(relu(in[0]), relu(negative(in[0])));
  return multiply(in[1], reciprocal(square(scale(size, 1, 1))));
}
Tensors tanhshrink_grad_parts(const Inputs& in, const NoAttrs&) {
  return multiply(in[1], square(tanh(in[0])));
}
Tensors log_sigmoid_grad_parts(const Inputs& in, const NoAttrs&) {
  return multiply(in[1], sigmoid(negative(in[0])));
}
Tensors softplus_grad_parts(const Inputs& in, const SoftplusAttrs& a) {
  Tensor scaled = scale(in[0], a.beta), linear = above(scaled, a.threshold);
  return multiply(in[1], add(linear, multiply(one_minus(linear), sigmoid(scaled))));
}
Tensors hardswish_grad_parts(const Inputs& in, const NoAttrs&) {
  Tensor inner = multiply(between(in[0], -3, 3), scale(in[0], 1.0 / 3, 0.5));
  return multiply(in[1], add(inner, one_minus(above(scale(in[0], -1), -3))));
}

#define ARGOSY_SMOOTH_GRAD(name, Attrs, saved) \
  ARGOSY_ACTIVATION_GRAD(name, Attrs, saved).compose(name##_grad_parts).done()

ARGOSY_SMOOTH_GRAD(elu, AlphaAttrs, "x");
ARGOSY_SMOOTH_GRAD(celu, AlphaAttrs, "x");
ARGOSY_SMOOTH_GRAD(selu, SeluAttrs, "y");
ARGOSY_SMOOTH_GRAD(silu, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(mish, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(softsign, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(tanhshrink, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(log_sigmoid, NoAttrs, "x");
ARGOSY_SMOOTH_GRAD(softplus, SoftplusAttrs, "x");
ARGOSY_SMOOTH_GRAD(hardswish, NoAttrs, "x");

void celu_infer(op::InferContext&, const AlphaAttrs& a) {
  ARGOSY_CHECK(a.alpha != 0, invalid_argument) << "[celu] alpha must not be 0.";
}
void selu_infer(op::InferContext&, const SeluAttrs& a) {
  ARGOSY_CHECK(a.scale > 1, invalid_argument)
      << "[selu] scale must be greater than 1.0, got " << a.scale << '.';
  ARGOSY_CHECK(a.alpha >= 0, invalid_argument)
      << "[selu] alpha must not be negative, got " << a.alpha << '.';
}

ARGOSY_ACTIVATION_OF_X(elu, AlphaAttrs, 5)
    .python("nn.functional.elu(x, alpha=1.0, name=None)")
    .inplace("elu_")
    .doc("x where it is positive, alpha * (e^x - 1) elsewhere.")
    .paper("1511.07289")
    .done();

ARGOSY_ACTIVATION_OF_X(celu, AlphaAttrs, 5)
    .python("nn.functional.celu(x, alpha=1.0, name=None)")
    .infer(celu_infer)
    .doc("max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)).")
    .paper("1704.07483")
    .done();

ARGOSY_ACTIVATION_OF_Y(selu, SeluAttrs, 5)
    .python("nn.functional.selu(x, scale=1.0507009873554805, alpha=1.6732632423543772, name=None)")
    .infer(selu_infer)
    .doc("scale * x where x is positive, scale * alpha * (e^x - 1) elsewhere.")
    .paper("1706.02515")
    .done();

ARGOSY_ACTIVATION_OF_X(silu, NoAttrs, 4)
    .python("nn.functional.swish(x, name=None)")
    .inplace("silu_")
    .doc("x * sigmoid(x).")
    .paper("1702.03118")
    .done();

ARGOSY_ACTIVATION_OF_X(mish, NoAttrs, 10)
    .python("nn.functional.mish(x, name=None)")
    .doc("x * tanh(log(1 + e^x)).")
    .paper("1908.08681")
    .done();

ARGOSY_ACTIVATION_OF_X(softsign, NoAttrs, 2)
    .python("nn.functional.softsign(x, name=None)")
    .doc("x / (1 + |x|).")
    .done();

ARGOSY_ACTIVATION_OF_X(tanhshrink, NoAttrs, 6)
    .python("nn.functional.tanhshrink(x, name=None)")
    .doc("x - tanh(x).")
    .done();

ARGOSY_ACTIVATION_OF_X(log_sigmoid, NoAttrs, 8)
    .python("nn.functional.log_sigmoid(x, name=None)")
    .python("nn.functional.logsigmoid(x, name=None)")
    .doc("log(sigmoid(x)), exact for large |x|.")
    .done();

ARGOSY_ACTIVATION_OF_X(softplus, SoftplusAttrs, 8)
    .python("nn.functional.softplus(x, beta=1, threshold=20, name=None)")
    .doc("log(1 + e^(beta x)) / beta; x where beta x > threshold.")
    .done();

ARGOSY_ACTIVATION_OF_X(hardswish, NoAttrs, 1)
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
