#include <tuple>
#include <utility>

#include "argosy/infer/paddle/common.h"

// Normalizations and dropout.
namespace argosy::infer::paddle {
namespace {

// (mean, variance) of each channel.
std::pair<Tensor, Tensor> statistics_of(const Tensor& x, bool channel_last) {
  std::vector<int64_t> axes = iota(0, x.rank());
  axes.erase(axes.begin() + (channel_last ? x.rank() - 1 : 1));
  const Tensor mean = ops::mean(x, int_array(axes), true);
  const Tensor variance = ops::mean(ops::square(ops::subtract(x, mean)), int_array(axes));
  return {ops::reshape(mean, {-1}), variance};
}

void batch_norm(const Node& n) {
  const Tensor x = n.in("X");
  n.expect(x.rank() >= 2, "X has no channels");
  Tensor mean = n.in("Mean"), variance = n.in("Variance");
  // A model that takes the statistics of what it is asked about does so when deployed, too.
  if ((!n.flag("is_test") || n.flag("trainable_statistics")) && !n.flag("use_global_stats"))
    std::tie(mean, variance) = statistics_of(x, channels_last(n));
  const Tensors all =
      call_all("batch_norm", {x, mean, variance, n.optional("Scale"), n.optional("Bias")},
               {{"epsilon", n.real("epsilon", 1e-5)}, {"channel_last", channels_last(n)}});
  n.out("Y", activate(n, all[0], n.text("act_type", n.flag("fuse_with_relu") ? "relu" : "")));
  n.out("MeanOut", n.item("Mean"));
  n.out("VarianceOut", n.item("Variance"));
}

void layer_norm(const Node& n) {
  const Tensors all = call_all(
      "layer_norm", {n.in("X"), n.optional("Scale"), n.optional("Bias")},
      {{"begin_norm_axis", n.integer("begin_norm_axis", 1)}, {"epsilon", n.real("epsilon", 1e-5)}});
  n.out("Y", all[0]);
}

// Of the last dimensions, which normalized_shape names, or of those from an axis on.
void rms_norm(const Node& n) {
  const Tensor x = n.in("X");
  int64_t axis = n.integer("begin_norm_axis", 1);
  if (n.has_attribute("normalized_shape")) {
    const auto count = static_cast<int64_t>(n.integers("normalized_shape").size());
    axis = n.axis(x.rank() - count, x.rank());
  }
  const Tensors all = call_all("rms_norm", {x, n.optional("Scale"), n.optional("Bias")},
                               {{"begin_norm_axis", axis}, {"epsilon", n.real("epsilon", 1e-5)}});
  n.out("Y", all[0]);
}

void group_norm(const Node& n) {
  const Tensors all = call_all("group_norm", {n.in("X"), n.optional("Scale"), n.optional("Bias")},
                               {{"num_groups", n.integer("groups", 1)},
                                {"epsilon", n.real("epsilon", 1e-5)},
                                {"channel_last", channels_last(n)}});
  n.out("Y", all[0]);
}

void instance_norm(const Node& n) {
  n.out("Y", call_all("instance_norm", {n.in("X"), n.optional("Scale"), n.optional("Bias")},
                      {{"epsilon", n.real("epsilon", 1e-5)}})[0]);
}

void lrn(const Node& n) {
  // alpha is not divided by the size of the window here, as it is in our op.
  const int64_t size = n.integer("n", 5);
  n.out("Out", call("local_response_norm", {n.in("X")},
                    {{"size", size},
                     {"alpha", n.real("alpha", 1e-4) * static_cast<double>(size)},
                     {"beta", n.real("beta", 0.75)},
                     {"k", n.real("k", 2)},
                     {"channel_last", channels_last(n)}}));
}

// Fixed factors and offsets for channels.
void affine_channel(const Node& n) {
  const Tensor x = n.in("X");
  const int axis = channels_last(n) ? x.rank() - 1 : 1;
  n.out("Out", ops::add(ops::multiply(x, stand_at(n.in("Scale"), axis, x.rank())),
                        stand_at(n.in("Bias"), axis, x.rank())));
}

void data_norm(const Node& n) {
  const Tensor x = n.in("X"), size = n.in("BatchSize"), sum = n.in("BatchSum"),
               squares = n.in("BatchSquareSum");
  const Tensor means = ops::divide(sum, size), scales = ops::sqrt(ops::divide(size, squares));
  n.out("Means", means);
  n.out("Scales", scales);
  Tensor y = ops::multiply(ops::subtract(x, means), scales);
  if (n.flag("enable_scale_and_shift"))
    y = ops::add(ops::multiply(y, n.in("scale_w")), n.in("bias"));
  n.out("Y", y);
}

void dropout(const Node& n) {
  const Tensor x = n.in("X");
  const op::Scalar p = n.scalar("dropout_prob", 0.5, "ProbTensor");
  const bool upscales =
      n.text("dropout_implementation", "downgrade_in_infer") == "upscale_in_train";
  n.out("Out", call("dropout", {x},
                    {{"p", p},
                     {"training", !n.flag("is_test")},
                     {"mode", upscales ? "upscale_in_train" : "downscale_in_infer"}}));
}

void spectral_norm(const Node& n) {
  n.out("Out", call("spectral_norm", {n.in("Weight"), n.in("U"), n.in("V")},
                    {{"dim", n.integer("dim", 0)},
                     {"power_iters", n.integer("power_iters", 1)},
                     {"eps", n.real("eps", 1e-12)}}));
}

constexpr Row kRows[] = {
    {"batch_norm", batch_norm},
    {"sync_batch_norm", batch_norm},
    {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"group_norm", group_norm},
    {"instance_norm", instance_norm},
    {"lrn", lrn},
    {"affine_channel", affine_channel},
    {"data_norm", data_norm},
    {"dropout", dropout},
    {"spectral_norm", spectral_norm},
};

}  // namespace

std::span<const Row> norm_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
