#include "argosy/infer/paddle/common.h"

namespace argosy::infer::paddle {
namespace {

void leaky_relu(const Node& n) {
  const double slope = n.real("alpha", n.real("negative_slope", 0.02));
  n.out("Out", call("leaky_relu", {n.in("X")}, {{"negative_slope", slope}}));
}

void elu(const Node& n) {
  n.out("Out", call("elu", {n.in("X")}, {{"alpha", n.real("alpha", 1)}}));
}

void celu(const Node& n) {
  n.out("Out", call("celu", {n.in("X")}, {{"alpha", n.real("alpha", 1)}}));
}

void selu(const Node& n) {
  n.out("Out", call("selu", {n.in("X")},
                    {{"scale", n.real("scale", 1.0507009873554805)},
                     {"alpha", n.real("alpha", 1.6732632423543772)}}));
}

void gelu(const Node& n) {
  n.out("Out", call("gelu", {n.in("X")}, {{"approximate", n.flag("approximate")}}));
}

Tensor hard_swish_of(const Tensor& x, double threshold, double scale, double offset) {
  if (threshold == 6 && scale == 6 && offset == 3) return call("hardswish", {x});
  return ops::multiply(x, ops::scale(ops::clip(ops::scale(x, 1, offset), 0, threshold), 1 / scale));
}

void hard_swish(const Node& n) {
  n.out("Out",
        hard_swish_of(n.in("X"), n.real("threshold", 6), n.real("scale", 6), n.real("offset", 3)));
}

void hard_sigmoid(const Node& n) {
  n.out("Out", call("hardsigmoid", {n.in("X")},
                    {{"slope", n.real("slope", 0.2)}, {"offset", n.real("offset", 0.5)}}));
}

void swish(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", ops::multiply(x, ops::sigmoid(ops::scale(x, n.real("beta", 1)))));
}

void relu6(const Node& n) {
  n.out("Out", ops::clip(n.in("X"), 0, n.real("threshold", 6)));
}

void brelu(const Node& n) {
  n.out("Out", ops::clip(n.in("X"), n.real("t_min", 0), n.real("t_max", 24)));
}

void mish(const Node& n) {
  n.out("Out", call("mish", {n.in("X")}));
}

void softplus(const Node& n) {
  n.out("Out", call("softplus", {n.in("X")},
                    {{"beta", n.real("beta", 1)}, {"threshold", n.real("threshold", 20)}}));
}

void hard_shrink(const Node& n) {
  n.out("Out", call("hardshrink", {n.in("X")}, {{"threshold", n.real("threshold", 0.5)}}));
}

void soft_shrink(const Node& n) {
  const double lambda = n.real("lambda", n.real("threshold", 0.5));
  n.out("Out", call("softshrink", {n.in("X")}, {{"threshold", lambda}}));
}

void thresholded_relu(const Node& n) {
  n.out("Out", call("thresholded_relu", {n.in("X")},
                    {{"threshold", n.real("threshold", 1)}, {"value", n.real("value", 0)}}));
}

void stanh(const Node& n) {
  n.out("Out",
        call("stanh", {n.in("X")},
             {{"scale_a", n.real("scale_a", 0.67)}, {"scale_b", n.real("scale_b", 1.7159)}}));
}

// One weight for all ("all"), for each channel, or for each element.
void prelu(const Node& n) {
  const Tensor x = n.in("X");
  Tensor weight = n.in("Alpha");
  const std::string mode = n.text("mode", "all");
  const bool last = channels_last(n);
  if (mode == "channel")
    weight = stand_at(ops::reshape(weight, {-1}), last ? x.rank() - 1 : 1, x.rank());
  const Tensor zero = number(0, x);
  n.out("Out", ops::add(ops::maximum(x, zero), ops::multiply(weight, ops::minimum(x, zero))));
}

// Slopes are drawn while training; else they are the middle of the bounds.
void rrelu(const Node& n) {
  const auto recording = n.session.recording();
  const Tensors both = call_all("rrelu", {n.in("X")},
                                {{"lower", n.real("lower", 0.125)},
                                 {"upper", n.real("upper", 1.0 / 3)},
                                 {"training", !n.flag("is_test")}});
  n.out("Out", both[0]);
  n.out("Noise", both[1]);
}

// log(1 + exp(x)) of x within the threshold.
void soft_relu(const Node& n) {
  const double t = n.real("threshold", 40);
  n.out("Out", ops::log1p(ops::exp(ops::clip(n.in("X"), -t, t))));
}

void softmax(const Node& n) {
  const Tensor x = n.in("X");
  if (x.rank() == 0) return n.out("Out", ops::ones_like(x));
  n.out("Out", call("softmax", {x}, {{"axis", n.integer("axis", -1)}}));
}

void log_softmax(const Node& n) {
  n.out("Out", call("log_softmax", {n.in("X")}, {{"axis", n.integer("axis", -1)}}));
}

void maxout(const Node& n) {
  n.out("Out", call("maxout", {n.in("X")},
                    {{"groups", n.integer("groups", 1)}, {"axis", n.integer("axis", 1)}}));
}

void swiglu(const Node& n) {
  if (n.has("Y")) {
    const Tensor x = n.in("X");
    return n.out("Out", ops::multiply(call("silu", {x}), n.in("Y")));
  }
  n.out("Out", call("swiglu", {n.in("X")}));
}

constexpr Row kRows[] = {
    {"relu", unary<"relu">},
    {"sigmoid", unary<"sigmoid">},
    {"tanh", unary<"tanh">},
    {"silu", unary<"silu">},
    {"softsign", unary<"softsign">},
    {"logsigmoid", unary<"log_sigmoid">},
    {"tanh_shrink", unary<"tanhshrink">},
    {"leaky_relu", leaky_relu},
    {"elu", elu},
    {"celu", celu},
    {"selu", selu},
    {"gelu", gelu},
    {"hard_swish", hard_swish},
    {"hard_sigmoid", hard_sigmoid},
    {"swish", swish},
    {"relu6", relu6},
    {"brelu", brelu},
    {"mish", mish},
    {"softplus", softplus},
    {"hard_shrink", hard_shrink},
    {"softshrink", soft_shrink},
    {"thresholded_relu", thresholded_relu},
    {"stanh", stanh},
    {"prelu", prelu},
    {"rrelu", rrelu},
    {"soft_relu", soft_relu},
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"maxout", maxout},
    {"swiglu", swiglu},
};

}  // namespace

Tensor activate(const Node& n, const Tensor& x, const std::string& name) {
  if (name.empty() || name == "identity" || name == "linear") return x;
  for (const char* plain : {"relu", "sigmoid", "tanh", "relu6", "silu", "mish", "gelu", "softplus"})
    if (name == plain) return call(name, {x});
  if (name == "swish") return call("silu", {x});
  if (name == "hard_swish") return call("hardswish", {x});
  if (name == "hard_sigmoid") return call("hardsigmoid", {x}, {{"slope", 0.2}, {"offset", 0.5}});
  if (name == "leaky_relu")
    return call("leaky_relu", {x}, {{"negative_slope", n.real("fuse_alpha", 0.01)}});
  n.unsupported("activation " + name);
}

std::span<const Row> activation_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
