#include "argosy/ops/activation/activation.h"
#include "argosy/infer/onnx/common.h"

namespace argosy::infer::onnx {
namespace {

Items relu(const Node& n) {
  const Tensor& x = n.in();
  return {is_floating(x.dtype()) ? ops::relu(x) : ops::maximum(x, number(0, x))};
}

Items leaky_relu(const Node& n) {
  return {call("leaky_relu", {n.in()}, {{"negative_slope", n.real("alpha", 0.01)}})};
}

// One slope, or one for each channel of x.
bool of_channels(const Tensor& slope, const Tensor& x) {
  if (!slope.shape().known() || slope.rank() > x.rank() || x.rank() < 2) return false;
  const int missing = x.rank() - slope.rank();
  for (int d = 0; d < slope.rank(); ++d)
    if (slope.dim(d) != 1 && (d + missing != 1 || slope.dim(d) != x.dim(1))) return false;
  return true;
}

Items prelu(const Node& n) {
  const Tensor &x = n.in(0), &slope = n.in(1);
  if (is_floating(x.dtype()) && of_channels(slope, x))
    return {call("prelu", {x, ops::reshape(slope, op::IntArray::one(-1))})};
  return {ops::where(ops::less_than(x, number(0, x)), ops::multiply(x, slope), x)};
}

Items elu(const Node& n) {
  return {call("elu", {n.in()}, {{"alpha", n.real("alpha", 1)}})};
}

Items celu(const Node& n) {
  return {call("celu", {n.in()}, {{"alpha", n.real("alpha", 1)}})};
}

Items selu(const Node& n) {
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  const Tensor& x = n.in();
  const Tensor below = ops::scale(ops::subtract(ops::exp(x), number(1, x)), alpha);
  return {ops::scale(ops::where(ops::greater_than(x, number(0, x)), x, below), gamma)};
}

Items hard_sigmoid(const Node& n) {
  return {call("hardsigmoid", {n.in()},
               {{"slope", n.real("alpha", 0.2)}, {"offset", n.real("beta", 0.5)}})};
}

Items thresholded_relu(const Node& n) {
  return {call("thresholded_relu", {n.in()}, {{"threshold", n.real("alpha", 1)}})};
}

Items softplus(const Node& n) {
  // log(1 + e^x) without overflow, and without a threshold from which on it is x.
  const Tensor& x = n.in();
  const Tensor tail = ops::log1p(ops::exp(ops::negative(ops::abs(x))));
  return {ops::add(ops::maximum(x, number(0, x)), tail)};
}

Items gelu(const Node& n) {
  const std::string kind = n.text("approximate", "none");
  n.expect(kind == "none" || kind == "tanh", "approximate has to be none or tanh");
  return {ops::gelu(n.in(), kind == "tanh")};
}

Tensor swish_of(const Tensor& x, double alpha) {
  return alpha == 1 ? ops::silu(x) : ops::multiply(x, ops::sigmoid(ops::scale(x, alpha)));
}

Items swish(const Node& n) {
  return {swish_of(n.in(), n.real("alpha", 1))};
}

Items swiglu(const Node& n) {
  return {ops::multiply(swish_of(n.in(0), n.real("alpha", 1)), n.in(1))};
}

Items shrink(const Node& n) {
  const double lambda = n.real("lambd", 0.5), bias = n.real("bias", 0);
  const Tensor& x = n.in();
  const Tensor zero = number(0, x), shift = number(bias, x);
  const Tensor below = ops::where(ops::less_than(x, number(-lambda, x)), ops::add(x, shift), zero);
  return {ops::where(ops::greater_than(x, number(lambda, x)), ops::subtract(x, shift), below)};
}

// Along one axis; before version 13 along all axes from `axis` on.
template <Name op>
Items along_axis(const Node& n) {
  const Tensor& x = n.in();
  const bool flat = n.opset < 13;
  const int axis = n.axis(n.integer("axis", flat ? 1 : -1), std::max(x.rank(), 1));
  if (!flat || axis == x.rank() - 1) return {call(op.text, {x}, {{"axis", axis}})};
  const Tensor rows = ops::flatten(x, axis, -1);
  return {ops::reshape_like(call(op.text, {rows}, {{"axis", axis}}), x)};
}

Items hardmax(const Node& n) {
  const Tensor& x = n.in();
  const bool flat = n.opset < 13;
  const int axis = n.axis(n.integer("axis", flat ? 1 : -1), std::max(x.rank(), 1));
  const Tensor rows = flat ? ops::flatten(x, axis, -1) : x;
  const Tensor largest = ops::argmax(rows, axis, true);
  const Tensor places = along(positions(rows, axis), axis, rows.rank());
  const Tensor one = as(ops::equal(places, largest), x.dtype());
  return {flat ? ops::reshape_like(one, x) : one};
}

Items dropout(const Node& n) {
  const Tensor& x = n.in();
  n.integer("seed", 0);  // without training nothing is drawn
  bool training = false;
  double ratio = 0.5;
  if (n.opset >= 12) {
    if (n.has(2)) training = n.known_integer(2) != 0;
    if (n.has(1)) ratio = training ? n.known_real(1) : ratio;
  } else {
    ratio = n.real("ratio", 0.5);
  }
  if (!training || ratio == 0) {
    Items out{n.item(0)};
    if (n.wants(1))
      out.emplace_back(
          ops::full_like(x, op::Scalar(true), n.opset >= 10 ? DType::bool_ : x.dtype()));
    return out;
  }
  const auto recording = n.session.recording();
  const Tensor kept =
      ops::greater_equal(call("uniform_like", {x}, {{"min", 0.0}, {"max", 1.0}}), number(ratio, x));
  const Tensor y = ops::scale(ops::multiply(x, as(kept, x.dtype())), 1 / (1 - ratio));
  return {y, kept};
}

constexpr Row kRows[] = {
    {"Celu", celu},
    {"Dropout", dropout},
    {"Elu", elu},
    {"Gelu", gelu},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", same<"hardswish">},
    {"Hardmax", hardmax},
    {"LeakyRelu", leaky_relu},
    {"LogSoftmax", along_axis<"log_softmax">},
    {"Mish", same<"mish">},
    {"PRelu", prelu},
    {"Relu", relu},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", same<"sigmoid">},
    {"Softmax", along_axis<"softmax">},
    {"Softplus", softplus},
    {"Softsign", same<"softsign">},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tanh", same<"tanh">},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const Row> activation_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
