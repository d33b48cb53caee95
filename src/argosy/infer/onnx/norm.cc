#include "argosy/ops/norm/norm.h"
#include "argosy/infer/onnx/common.h"

namespace argosy::infer::onnx {
namespace {

Items batch_norm(const Node& n) {
  const Tensor& x = n.in(0);
  const double epsilon = n.real("epsilon", 1e-5), momentum = n.real("momentum", 0.9);
  n.expect(n.integer("spatial", 1) == 1, "statistics of each element are not supported");
  const Tensor &weight = n.in(1), &bias = n.in(2), &mean = n.in(3), &variance = n.in(4);
  if (!n.flag("training_mode"))
    return {call("batch_norm", {x, mean, variance, weight, bias}, {{"epsilon", epsilon}})};
  op::IntArray axes{0};
  for (int i = 2; i < x.rank(); ++i) push(axes, i);
  const Tensor own_mean = ops::mean(x, axes), own_variance = ops::var(x, axes, 0);
  const Tensor y =
      call("batch_norm", {x, own_mean, own_variance, weight, bias}, {{"epsilon", epsilon}});
  auto mixed = [&](const Tensor& old, const Tensor& now) {
    return ops::add(ops::scale(old, momentum), ops::scale(as(now, old.dtype()), 1 - momentum));
  };
  return {y, mixed(mean, own_mean), mixed(variance, own_variance)};
}

Items instance_norm(const Node& n) {
  return {
      call("instance_norm", {n.in(0), n.in(1), n.in(2)}, {{"epsilon", n.real("epsilon", 1e-5)}})};
}

// What is computed in another type than its operands, if `stash_type` says so.
Tensor stashed(const Node& n, const Tensor& x) {
  const auto dtype = dtype_of_element(n.element_attribute("stash_type", kFloat));
  if (!dtype || !kFloating.has(*dtype)) n.unsupported("this stash_type");
  return x.dtype() == DType::float64 ? x : as(x, *dtype);
}

op::IntArray from_axis(const Tensor& x, int axis) {
  const std::vector<int64_t> axes = iota(axis, x.rank());
  return op::IntArray(std::span(axes));
}

Items layer_norm(const Node& n) {
  const Tensor& x = n.in(0);
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const double epsilon = n.real("epsilon", 1e-5);
  const Tensor weight = n.in(1), bias = n.optional(2);
  const Tensor wide = stashed(n, x);
  const bool plain = weight.rank() == x.rank() - axis && wide.dtype() == x.dtype();
  if (plain && !n.wants(1) && !n.wants(2)) return {ops::layer_norm(x, weight, bias, axis, epsilon)};
  const op::IntArray axes = from_axis(x, axis);
  const Tensor mean = ops::mean(wide, axes, true);
  const Tensor inverse = ops::rsqrt(ops::scale(ops::var(wide, axes, 0, true), 1, epsilon));
  Tensor y = ops::multiply(ops::subtract(wide, mean), inverse);
  y = ops::multiply(as(y, x.dtype()), weight);
  if (bias.defined()) y = ops::add(y, bias);
  return {y, mean, inverse};
}

Items rms_norm(const Node& n) {
  const Tensor& x = n.in(0);
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const double epsilon = n.real("epsilon", 1e-5);
  const Tensor wide = stashed(n, x);
  const Tensor square = ops::mean(ops::square(wide), from_axis(x, axis), true);
  const Tensor y = ops::multiply(wide, ops::rsqrt(ops::scale(square, 1, epsilon)));
  return {ops::multiply(as(y, x.dtype()), n.in(1))};
}

Items group_norm(const Node& n) {
  const Tensor& x = n.in(0);
  const int64_t groups = n.integer("num_groups");
  const double epsilon = n.real("epsilon", 1e-5);
  n.element_attribute("stash_type", kFloat);
  Tensor weight = n.in(1), bias = n.in(2);
  n.expect(x.rank() >= 2 && groups > 0 && x.dim(1) % groups == 0,
           "the groups do not divide the channels");
  if (n.opset < 21) {
    // One number for each group.
    const int64_t each = x.dim(1) / groups;
    auto spread = [&](const Tensor& t) {
      return ops::flatten(
          ops::expand(ops::unsqueeze(t, op::IntArray{1}), op::IntArray{groups, each}), 0, 1);
    };
    weight = spread(weight);
    bias = spread(bias);
  }
  return {ops::group_norm(x, weight, bias, groups, epsilon, false)};
}

Items lp_norm(const Node& n) {
  const Tensor& x = n.in();
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const int64_t p = n.integer("p", 2);
  n.expect(p == 1 || p == 2, "p has to be 1 or 2");
  const op::IntArray axes{axis};
  const Tensor length =
      p == 1 ? ops::sum(ops::abs(x), axes, true) : ops::sqrt(ops::sum(ops::square(x), axes, true));
  const Tensor zero = number(0, length);
  const Tensor safe = ops::where(ops::equal(length, zero), number(1, length), length);
  return {ops::divide(x, safe)};
}

Items lrn(const Node& n) {
  return {call("local_response_norm", {n.in()},
               {{"size", n.integer("size")},
                {"alpha", n.real("alpha", 1e-4)},
                {"beta", n.real("beta", 0.75)},
                {"k", n.real("bias", 1)}})};
}

Items mean_variance(const Node& n) {
  const Tensor& x = n.in();
  const std::vector<int64_t> list = n.integers("axes", {0, 2, 3});
  const op::IntArray axes{std::span<const int64_t>(list)};
  const Tensor centered = ops::subtract(x, ops::mean(x, axes, true));
  const Tensor spread = ops::sqrt(ops::mean(ops::square(centered), axes, true));
  return {ops::divide(centered, ops::scale(spread, 1, 1e-9))};
}

constexpr Row kRows[] = {
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"LRN", lrn},
    {"LayerNormalization", layer_norm},
    {"LpNormalization", lp_norm},
    {"MeanVarianceNormalization", mean_variance},
    {"RMSNormalization", rms_norm},
    // As ONNX Runtime writes it, in the default domain.
    {"SimplifiedLayerNormalization", rms_norm},
};

}  // namespace

std::span<const Row> norm_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
