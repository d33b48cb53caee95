#include <algorithm>

#include "argosy/kernels/cpu/rows.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

void check_groups(const Tensor& x, int64_t channels, int64_t groups) {
  ARGOSY_CHECK(groups >= 1 && (channels < 0 || channels % groups == 0), invalid_argument)
      << "[group_norm] num_groups must divide the number of channels: num_groups is " << groups
      << ", x is " << x << " with " << channels
      << " channels. Do this: choose another num_groups, or check data_format.";
}

void group_norm_infer(InferContext& c, const GroupNormAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "[group_norm] x must have at least 2 dimensions [N, C, ..], got " << x
      << ". Do this: unsqueeze x.";
  const int64_t channels = x.dim(channel_axis(x, a.channel_last));
  check_groups(x, channels, a.num_groups);
  check_parameter("group_norm", "weight", c.in[1], channels, x.shape());
  check_parameter("group_norm", "bias", c.in[2], channels, x.shape());
  c.out[1] = c.out[2] = {{x.dim(0), a.num_groups}, statistics_dtype(x.dtype())};
}

// groups 0: one for each channel.
cpu::GroupNorm layout_of(const Tensor& x, int64_t groups, double epsilon, bool channel_last) {
  const int64_t channels = x.dim(channel_axis(x, channel_last));
  if (groups == 0) groups = channels;
  return {x.dtype(), x.dim(0), channels,    x.numel() / std::max<int64_t>(1, x.dim(0) * channels),
          groups,    epsilon,  channel_last};
}

void run_groups(KernelFrame& f, int64_t groups, double epsilon, bool channel_last) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  DType wide = f.out[1].dtype();
  Tensor weight = as_dtype(f.in[1], wide), bias = as_dtype(f.in[2], wide);
  cpu::group_norm(layout_of(x, groups, epsilon, channel_last), x.raw(), raw_or_null(weight),
                  raw_or_null(bias), f.out[0].raw(), f.out[1].raw(), f.out[2].raw());
}
void group_norm_run(KernelFrame& f, const GroupNormAttrs& a) {
  run_groups(f, a.num_groups, a.epsilon, a.channel_last);
}

void group_norm_grad_infer(InferContext& c, const GroupNormGradAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "[group_norm_grad] x must have at least 2 dimensions [N, C, ..], got " << x << '.';
  const int64_t channels = x.dim(channel_axis(x, a.channel_last));
  if (a.num_groups != 0) check_groups(x, channels, a.num_groups);
  const int64_t groups = a.num_groups == 0 ? channels : a.num_groups;
  for (const Tensor* t : {&c.in[2], &c.in[3]}) {
    const int64_t n = t->numel();
    ARGOSY_CHECK(n < 0 || x.dim(0) < 0 || groups < 0 || n == x.dim(0) * groups, invalid_argument)
        << "[group_norm_grad] statistics: expected " << x.dim(0) << " x " << groups << ", got "
        << *t << '.';
  }
  infer_parameter_grads(c, a.channel_last, a.bias);
}

void group_norm_grad_run(KernelFrame& f, const GroupNormGradAttrs& a) {
  const Tensor& x = f.in[0];
  if (zero_parameter_grads(f)) return;
  Tensor weight = as_dtype(f.in[1], f.in[2].dtype());
  cpu::group_norm_grad(layout_of(x, a.num_groups, a.epsilon, a.channel_last), x.raw(),
                       f.in[2].raw(), f.in[3].raw(), raw_or_null(weight), f.in[4].raw(),
                       f.out[0].raw(), weight.defined() ? f.out[1].raw() : nullptr,
                       a.bias ? f.out[2].raw() : nullptr);
}

Tensor channels_first(const Tensor& x) {
  std::vector<int64_t> perm{0, x.rank() - 1};
  for (int i = 1; i < x.rank() - 1; ++i) perm.push_back(i);
  return transpose(x, perm);
}
Tensor channels_last(const Tensor& x) {
  std::vector<int64_t> perm{0};
  for (int i = 2; i < x.rank(); ++i) perm.push_back(i);
  perm.push_back(1);
  return transpose(x, perm);
}

// Compositions see wide tensors [N, C, ..], and as groups [N, groups, ..].
struct Groups {
  Groups(const Tensor& x, const GroupNormGradAttrs& a)
      : like(a.channel_last ? channels_first(widened(x)) : widened(x)), attrs(a) {
    for (int i = 0; i < x.rank(); ++i) {
      if (i != 1) axes.values.push_back(i);
      if (i > 1) spread.values.push_back(1);
    }
  }
  // An operand or gradient of x's form; may be undefined.
  Tensor taken(const Tensor& t) const {
    if (!t.defined()) return t;
    return attrs.channel_last ? channels_first(widened(t)) : widened(t);
  }
  Tensor given(const Tensor& t, DType dtype) const {
    if (!t.defined()) return t;
    return cast(attrs.channel_last ? channels_last(t) : t, dtype);
  }
  // One number for each channel; may be undefined.
  Tensor spread_out(const Tensor& t) const {
    return t.defined() ? reshape(cast(t, like.dtype()), spread) : t;
  }
  Tensor grouped(const Tensor& t) const {
    return t.defined() ? reshape(t, {0, attrs.num_groups, -1}) : t;
  }
  Tensor ungrouped(const Tensor& t) const { return t.defined() ? reshape_like(t, like) : t; }
  Tensor by_channel(const Tensor& t) const { return sum(t, axes, false); }

  Tensor like;
  const GroupNormGradAttrs& attrs;
  op::IntArray axes, spread{-1};
};

Tensors group_norm_grad_parts(const Inputs& in, const GroupNormGradAttrs& a) {
  const Groups s(in[0], a);
  Tensor dy = s.taken(in[4]), weight = s.spread_out(in[1]);
  Tensor g = weight.defined() ? multiply(dy, weight) : dy;
  Normalized n = normalize_parts(s.grouped(s.like), s.grouped(g), {2}, a.epsilon, true);
  Tensors out;
  out.push_back(s.given(s.ungrouped(n.dx), in[0].dtype()));
  out.push_back(weight.defined() ? s.by_channel(multiply(dy, s.ungrouped(n.y))) : Tensor());
  out.push_back(a.bias ? s.by_channel(dy) : Tensor());
  return out;
}

// From the gradients of dx, dweight and dbias.
Tensors group_norm_grad_second(const GradCall& c, const GroupNormGradAttrs& a) {
  const Groups s(c.in[0], a);
  Tensor dy = s.taken(c.in[4]), h = s.taken(c.dy(0)), weight = s.spread_out(c.in[1]);
  Tensor to_weight, to_bias;
  if (weight.defined()) to_weight = s.spread_out(c.dy(1));
  if (a.bias) to_bias = s.spread_out(c.dy(2));
  auto weighted = [&](const Tensor& t) { return weight.defined() ? multiply(t, weight) : t; };
  Tensor t = to_weight.defined() ? multiply(dy, to_weight) : Tensor();
  NormalizedGrads n = normalize_parts_grad(s.grouped(s.like), s.grouped(weighted(dy)), s.grouped(h),
                                           s.grouped(t), op::IntArray{2}, a.epsilon, true);
  Tensor dg = s.ungrouped(n.dg), dweight, ddy = to_bias;
  if (to_weight.defined()) ddy = sum_of(ddy, multiply(s.ungrouped(n.y), to_weight));
  if (h.defined()) ddy = sum_of(ddy, weighted(dg));
  if (weight.defined() && h.defined())
    dweight = cast(s.by_channel(multiply(dy, dg)), c.in[1].dtype());
  if (ddy.defined()) ddy = s.given(expand_like(ddy, s.like), c.in[4].dtype());
  return {s.given(s.ungrouped(n.dx), c.in[0].dtype()), dweight, Tensor(), Tensor(), ddy};
}

ARGOSY_OP(group_norm_grad, GroupNormGradAttrs)
    .doc("Gradients of group_norm, from x, the weight, the statistics and dy.")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .input("mean", kFloating)
    .input("variance", kFloating)
    .input("dy", kFloating, Save::value)
    .output("dx")
    .output("dweight")
    .output("dbias")
    .infer(group_norm_grad_infer)
    .kernel("groups", group_norm_grad_run)
    .compose(group_norm_grad_parts)
    .gradient(group_norm_grad_second)
    .done();

Tensors groups_grad(const GradCall& c, int64_t groups, double epsilon, bool channel_last) {
  const Tensor &weight = c.in[1], &bias = c.in[2];
  Tensors grads = group_norm_grad_op.all({c.in[0], weight, c.out(1), c.out(2), c.dy()},
                                         {groups, epsilon, channel_last, bias.defined()});
  return {grads[0], weight.defined() ? cast(grads[1], weight.dtype()) : Tensor(),
          bias.defined() ? cast(grads[2], bias.dtype()) : Tensor()};
}
Tensors group_norm_grad_rule(const GradCall& c, const GroupNormAttrs& a) {
  return groups_grad(c, a.num_groups, a.epsilon, a.channel_last);
}

ARGOSY_OP(group_norm, GroupNormAttrs)
    .doc(
        "x [N, C, ..] (channel_last: [N, .., C]) normalized to mean 0 and variance 1 over each of "
        "num_groups groups of channels of each sample, times weight [C] plus bias [C].")
    .shape(
        "x [n,c,*s], weight [c], bias [c] -> [n,c,*s] | x [n,*s,c], weight [c], bias [c] -> "
        "[n,*s,c]")
    .paper("1803.08494")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .hidden_output("mean")
    .hidden_output("variance")
    .infer(group_norm_infer)
    .kernel("groups", group_norm_run)
    .gradient(group_norm_grad_rule)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- instance norm ---

void instance_norm_infer(InferContext& c, const InstanceNormAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(2 <= x.rank() && x.rank() <= 5, invalid_argument)
      << "[instance_norm] x must have 2 to 5 dimensions [N, C, ..], got " << x
      << ". Do this: unsqueeze or flatten x.";
  const int64_t channels = x.dim(channel_axis(x, a.channel_last));
  check_parameter("instance_norm", "weight", c.in[1], channels, x.shape());
  check_parameter("instance_norm", "bias", c.in[2], channels, x.shape());
  c.out[1] = c.out[2] = {{x.dim(0), channels}, statistics_dtype(x.dtype())};
}

// Group norm with one channel in each group.
void instance_norm_run(KernelFrame& f, const InstanceNormAttrs& a) {
  run_groups(f, 0, a.epsilon, a.channel_last);
}
Tensors instance_norm_grad(const GradCall& c, const InstanceNormAttrs& a) {
  return groups_grad(c, 0, a.epsilon, a.channel_last);
}

ARGOSY_OP(instance_norm, InstanceNormAttrs)
    .doc(
        "x [N, C, ..] normalized to mean 0 and variance 1 over each channel of each sample, times "
        "weight [C] plus bias [C].")
    .shape(
        "x [n,c,*s], weight [c], bias [c] -> [n,c,*s] | x [n,*s,c], weight [c], bias [c] -> "
        "[n,*s,c]")
    .paper("1607.08022")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .hidden_output("mean")
    .hidden_output("variance")
    .infer(instance_norm_infer)
    .kernel("channels", instance_norm_run)
    .gradient(instance_norm_grad)
    .done();

}  // namespace

Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t num_groups,
                  double epsilon, bool channel_last) {
  return group_norm_op(x, weight, bias, GroupNormAttrs{num_groups, epsilon, channel_last});
}

}  // namespace argosy::ops
