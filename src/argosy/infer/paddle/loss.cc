#include "argosy/infer/paddle/common.h"

// Losses.
namespace argosy::infer::paddle {
namespace {

void softmax_with_cross_entropy(const Node& n) {
  const Tensor logits = n.in("Logits");
  const int64_t axis = n.integer("axis", -1);
  const bool uses_softmax = n.flag("use_softmax", true);
  n.out("Softmax", uses_softmax ? call("softmax", {logits}, {{"axis", axis}}) : logits);
  const Tensor loss = call("cross_entropy", {logits, n.in("Label")},
                           {{"soft_label", n.flag("soft_label")},
                            {"ignore_index", n.integer("ignore_index", -100)},
                            {"reduction", "none"},
                            {"axis", axis},
                            {"use_softmax", uses_softmax}});
  // Paddle keeps the axis of classes, with size 1.
  const bool kept = loss.rank() == logits.rank();
  n.out("Loss", kept ? loss : ops::unsqueeze(loss, {n.axis(axis, logits.rank())}));
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

void binary_cross_entropy(const Node& n) {
  n.out("Out", call("binary_cross_entropy", {n.in("X"), n.in("Label")}, {{"reduction", "none"}}));
}

// max(0, 1 - x (2 label - 1))
void hinge_loss(const Node& n) {
  const Tensor x = n.in("Logits");
  const Tensor sign = ops::scale(n.in("Labels"), 2, -1);
  const Tensor rest = ops::scale(ops::multiply(x, sign), -1, 1);
  n.out("Loss", ops::maximum(rest, number(0, rest)));
}

void identity_loss(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t way = n.integer("reduction", 1);
  n.expect(way >= 0 && way <= 2, "reduction is not known");
  n.out("Out", way == 0 ? ops::sum(x) : way == 1 ? ops::mean(x) : x);
}

// Of logits [T, B, classes] and padded labels [B, L]; one loss for each row of the batch.
void ctc_loss(const Node& n) {
  const Tensor logits = n.in("Logits");
  if (!n.has("LogitsLength") || !n.has("LabelLength") || logits.rank() != 3)
    n.unsupported("warpctc of batches of sequences");
  const Tensor loss =
      call("ctc_loss",
           {call("log_softmax", {logits}), n.in("Label"), as(n.in("LogitsLength"), DType::int64),
            as(n.in("LabelLength"), DType::int64)},
           {{"blank", n.integer("blank", 0)},
            {"reduction", "none"},
            {"norm_by_times", n.flag("norm_by_times")}});
  n.out("Loss", ops::reshape(loss, {-1, 1}));
}

void transducer_loss(const Node& n) {
  n.out("loss", call("rnnt_rows",
                     {n.in("input"), n.in("label"), n.in("input_lengths"), n.in("label_lengths")},
                     {{"blank", n.integer("blank", 0)},
                      {"fastemit_lambda", n.real("fastemit_lambda", 0)}}));
}

void margin_cross_entropy(const Node& n) {
  if (n.integer("nranks", 1) != 1) n.unsupported("margin_cross_entropy of several ranks");
  const Tensors both = call_all("margin_cross_entropy", {n.in("Logits"), n.in("Label")},
                                {{"margin1", n.real("margin1", 1)},
                                 {"margin2", n.real("margin2", 0.5)},
                                 {"margin3", n.real("margin3", 0)},
                                 {"scale", n.real("scale", 64)},
                                 {"reduction", "none"}});
  n.out("Loss", both[0]);
  n.out("Softmax", both[1]);
}

void hierarchical_sigmoid(const Node& n) {
  n.out("Out", call("hsigmoid_loss",
                    {n.in("X"), n.in("Label"), n.in("W"), n.optional("Bias"),
                     n.optional("PathTable"), n.optional("PathCode")},
                    {{"num_classes", n.integer("num_classes", 2)}}));
}

// The classes that labels name, and others that are drawn.
void class_center_sample(const Node& n) {
  if (n.integer("nranks", 1) != 1) n.unsupported("classes that several ranks share");
  const Tensor label = n.in("Label");
  const auto recording = n.session.recording();  // drawn in each run
  const Tensors both = call_all(
      "class_center_sample", {label},
      {{"num_classes", n.integer("num_classes", 1)}, {"num_samples", n.integer("num_samples", 1)}});
  n.out("RemappedLabel", both[0]);
  n.out("SampledLocalClassCenter", both[1]);
}

constexpr Row kRows[] = {
    {"class_center_sample", class_center_sample},
    {"softmax_with_cross_entropy", softmax_with_cross_entropy},
    {"sigmoid_cross_entropy_with_logits", sigmoid_cross_entropy},
    {"cross_entropy", cross_entropy},
    {"cross_entropy2", cross_entropy},
    {"log_loss", log_loss},
    {"huber_loss", huber_loss},
    {"kldiv_loss", kldiv_loss},
    {"nll_loss", nll_loss},
    {"label_smooth", label_smooth},
    {"bce_loss", binary_cross_entropy},
    {"hierarchical_sigmoid", hierarchical_sigmoid},
    {"hinge_loss", hinge_loss},
    {"identity_loss", identity_loss},
    {"margin_cross_entropy", margin_cross_entropy},
    {"warpctc", ctc_loss},
    {"warprnnt", transducer_loss},
};

}  // namespace

std::span<const Row> loss_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
