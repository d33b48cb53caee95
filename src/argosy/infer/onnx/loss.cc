#include "argosy/infer/onnx/common.h"
#include "argosy/ops/activation/activation.h"

namespace argosy::infer::onnx {
namespace {

// -log_prob[target] * weight[target] of log_prob [N, C, ..] and target [N, ..].
Tensor losses(const Node& n, const Tensor& log_prob, const Tensor& target, const Tensor& weight) {
  const std::string reduction = n.text("reduction", "mean");
  const Tensor label = as(target, DType::int64);
  Tensor counts;  // 1 for each place that counts, times its weight
  Tensor place = label;
  if (n.has_attribute("ignore_index")) {
    const Tensor ignored = ops::constant(op::Scalar(n.integer("ignore_index", 0)), DType::int64);
    const Tensor kept = ops::not_equal(label, ignored);
    place = ops::where(kept, label, number(0, label));
    counts = as(kept, log_prob.dtype());
  }
  if (weight.defined()) {
    const Tensor w = ops::take_slices(weight, place, 0);
    counts = counts.defined() ? ops::multiply(counts, w) : w;
  }
  const Tensor picked =
      call("take_along", {log_prob, ops::unsqueeze(place, op::IntArray{1})}, {{"axis", 1}});
  Tensor loss = ops::negative(ops::squeeze(picked, op::IntArray{1}));
  if (counts.defined()) loss = ops::multiply(loss, counts);
  if (reduction == "none") return loss;
  if (reduction == "sum") return ops::sum(loss);
  n.expect(reduction == "mean", "reduction has to be none, sum or mean");
  return counts.defined() ? ops::divide(ops::sum(loss), ops::sum(counts)) : ops::mean(loss);
}

Items negative_log_likelihood(const Node& n) {
  return {losses(n, n.in(0), n.in(1), n.optional(2))};
}

Items softmax_cross_entropy(const Node& n) {
  const Tensor log_prob = ops::log_softmax(n.in(0), 1);
  return {losses(n, log_prob, n.in(1), n.optional(2)), log_prob};
}

constexpr Row kRows[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const Row> loss_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
