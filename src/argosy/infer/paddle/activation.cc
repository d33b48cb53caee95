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

void softmax_with_cross_entropy(const Node& n) {
  const Tensor logits = n.in("Logits");
  const int64_t axis = n.integer("axis", -1);
  const bool uses_softmax = n.flag("use_softmax", true);
  n.out("Softmax", uses_softmax ? call("softmax", {logits}, {{"axis", axis}}) : logits);
  n.out("Loss", call("softmax_with_cross_entropy", {logits, n.in("Label")},
                     {{"soft_label", n.flag("soft_label")},
                      {"ignore_index", n.integer("ignore_index", -100)},
                      {"axis", axis}}));
}

void sigmoid_cross_entropy(const Node& n) {
  const Tensor x = n.in("X"), label = n.in("Label");
  // max(x, 0) - x * label + log(1 + exp(-|x|))
  Tensor loss = ops::add(ops::subtract(ops::maximum(x, number(0, x)), ops::multiply(x, label)),
                         ops::log1p(ops::exp(ops::negative(ops::abs(x)))));
  const Tensor counts =
      as(ops::not_equal(label, number(n.real("ignore_index", -100), label)), x.dtype());
  loss = ops::multiply(loss, counts);
  if (n.flag("normalize"))
    loss = ops::divide(loss, ops::maximum(ops::sum(counts), number(1e-6, x)));
  n.out("Out", loss);
}

// The probability of the label, by its logarithm.
void cross_entropy(const Node& n) {
  n.out("Y", call("cross_entropy", {n.in("X"), n.in("Label")},
                  {{"soft_label", n.flag("soft_label")},
                   {"ignore_index", n.integer("ignore_index", -100)},
                   {"reduction", "none"},
                   {"use_softmax", false}}));
}

// 0.5 r^2 of the difference where that is not larger than delta, delta (|r| - 0.5 delta) elsewhere.
void huber_loss(const Node& n) {
  const Tensor x = n.in("X"), y = n.in("Y");
  n.out("Residual", ops::subtract(y, x));
  n.out("Out", call("smooth_l1_loss", {x, y},
                    {{"reduction", "none"}, {"delta", n.real("delta", 1)}, {"is_huber", true}}));
}

void kldiv_loss(const Node& n) {
  n.out("Loss",
        call("kl_div", {n.in("X"), n.in("Target")},
             {{"reduction", n.text("reduction", "mean")}, {"log_target", n.flag("log_target")}}));
}

void nll_loss(const Node& n) {
  n.out("Out", call("nll_loss", {n.in("X"), n.in("Label"), n.optional("Weight")},
                    {{"ignore_index", n.integer("ignore_index", -100)},
                     {"reduction", n.text("reduction", "mean")}}));
}

void label_smooth(const Node& n) {
  n.out("Out", call("label_smooth", {n.in("X"), n.optional("PriorDist")},
                    {{"epsilon", n.real("epsilon", 0)}}));
}

void log_loss(const Node& n) {
  n.out("Loss", call("log_loss", {n.in("Predicted"), n.in("Labels")},
                     {{"epsilon", n.real("epsilon", 1e-4)}}));
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
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"maxout", maxout},
    {"swiglu", swiglu},
    {"softmax_with_cross_entropy", softmax_with_cross_entropy},
    {"sigmoid_cross_entropy_with_logits", sigmoid_cross_entropy},
    {"cross_entropy", cross_entropy},
    {"cross_entropy2", cross_entropy},
    {"log_loss", log_loss},
    {"huber_loss", huber_loss},
    {"kldiv_loss", kldiv_loss},
    {"nll_loss", nll_loss},
    {"label_smooth", label_smooth},
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
