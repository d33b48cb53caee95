#include <algorithm>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

void batch_norm_infer(InferContext& c, const BatchNormAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "[batch_norm] x must have at least 2 dimensions [N, C, ..], got " << x
      << ". Do this: unsqueeze x.";
  const int64_t channels = x.dim(channel_axis(x, a.channel_last));
  const char* names[] = {"x", "running_mean", "running_var", "weight", "bias"};
  for (size_t i = 1; i < 5; ++i)
    check_parameter("batch_norm", names[i], c.in[i], channels, x.shape());
  c.out[1] = c.out[2] = {{channels}, statistics_dtype(x.dtype())};
}

// Statistics of one value for each channel say nothing: training then leaves x and the running
// statistics as they are, and only x has a gradient. [= Paddle]
bool is_lone(const Tensor& x, bool channel_last) {
  return x.numel() == x.dim(channel_axis(x, channel_last));
}

void batch_norm_run(KernelFrame& f, const BatchNormAttrs& a) {
  Tensor x = op::contiguous(f.in[0]);
  const Tensor &mean = f.out[1], &variance = f.out[2];
  if (x.numel() == 0) return;
  cpu::ChannelNorm layout = channel_layout(x, a.channel_last);
  const bool lone = (a.batch_stats || a.given_own) && is_lone(x, a.channel_last);
  if (a.batch_stats) {
    cpu::batch_norm_statistics(layout, x.raw(), mean.raw(), variance.raw());
    if (lone) return op::copy_into(f.out[0], x);
    update_running("batch_norm", f.in[1], mean, a.momentum);
    update_running("batch_norm", f.in[2], variance, a.momentum);
  } else {
    op::copy_into(mean, f.in[1]);
    op::copy_into(variance, f.in[2]);
    if (lone) return op::copy_into(f.out[0], x);
  }
  Tensor weight = as_dtype(f.in[3], mean.dtype()), bias = as_dtype(f.in[4], mean.dtype());
  cpu::batch_norm_apply(layout, x.raw(), mean.raw(), variance.raw(), a.epsilon, raw_or_null(weight),
                        raw_or_null(bias), f.out[0].raw());
}

// --- gradient ---

void batch_norm_grad_infer(InferContext& c, const BatchNormGradAttrs& a) {
  infer_parameter_grads(c, a.channel_last, a.bias);
  for (size_t statistic : {2, 3})
    expect_size(c, statistic, c.in[0].dim(channel_axis(c.in[0], a.channel_last)));
}

void batch_norm_grad_run(KernelFrame& f, const BatchNormGradAttrs& a) {
  const Tensor& x = f.in[0];
  if (zero_parameter_grads(f)) return;
  if (!a.fixed && is_lone(x, a.channel_last)) {
    for (size_t i = 1; i < 3; ++i)
      std::fill_n(static_cast<char*>(f.out[i].raw()), f.out[i].nbytes(), 0);
    return op::copy_into(f.out[0], f.in[4]);
  }
  Tensor weight = as_dtype(f.in[1], f.in[2].dtype());
  cpu::batch_norm_grad(channel_layout(x, a.channel_last), x.raw(), f.in[2].raw(), f.in[3].raw(),
                       a.epsilon, raw_or_null(weight), f.in[4].raw(), a.fixed, f.out[0].raw(),
                       weight.defined() ? f.out[1].raw() : nullptr,
                       a.bias ? f.out[2].raw() : nullptr);
}

// is_lone for rules: `if_lone` where x is, else `t`; undefined stands for zeros of the other's
// form.
Tensor unless_lone(const Tensor& x, bool channel_last, const Tensor& t, const Tensor& if_lone) {
  const Tensor& form = t.defined() ? t : if_lone;
  if (!form.defined()) return form;
  const int64_t channels = x.dim(channel_axis(x, channel_last));
  if (x.numel() >= 0 && channels >= 0) return x.numel() == channels ? if_lone : t;
  Tensor lone = equal(numel_of(x), size_of(x, channel_axis(x, channel_last), DType::int64));
  return where(lone, if_lone.defined() ? if_lone : zeros_like(form),
               t.defined() ? t : zeros_like(form));
}

Tensors batch_norm_grad_parts(const Inputs& in, const BatchNormGradAttrs& a) {
  Tensor x = widened(in[0]), dy = widened(in[4]);
  const auto [axes, spread] = ChannelAxes(x, a.channel_last);
  auto over_x = [&spread = spread](const Tensor& t) { return reshape(t, spread); };
  Tensor g = dy;
  if (in[1].defined()) g = multiply(dy, over_x(cast(in[1], x.dtype())));
  Tensor y, dx;
  if (a.fixed) {
    Tensor rstd = over_x(rsqrt(scale(in[3], 1, a.epsilon)));
    y = multiply(subtract(x, over_x(in[2])), rstd);
    dx = multiply(g, rstd);
  } else {
    Normalized n = normalize_parts(x, g, axes, a.epsilon, true);
    y = n.y;
    dx = n.dx;
  }
  Tensors out{dx};
  out.push_back(in[1].defined() ? sum(multiply(dy, y), axes, false) : Tensor());
  out.push_back(a.bias ? sum(dy, axes, false) : Tensor());
  if (!a.fixed) {
    out[0] = unless_lone(x, a.channel_last, dx, dy);
    for (size_t i = 1; i < 3; ++i) {
      if (out[i].defined()) out[i] = unless_lone(x, a.channel_last, out[i], zeros_like(out[i]));
    }
  }
  out[0] = cast(out[0], in[0].dtype());
  return out;
}

// From the gradients of dx, dweight and dbias.
Tensors batch_norm_grad_second(const GradCall& c, const BatchNormGradAttrs& a) {
  Tensor x = widened(c.in[0]), dy = widened(c.in[4]), h = widened(c.dy(0));
  const auto [axes, spread] = ChannelAxes(x, a.channel_last);
  auto over_x = [&x, &spread = spread](const Tensor& t) {
    return t.defined() ? reshape(cast(t, x.dtype()), spread) : t;
  };
  Tensor weight = over_x(c.in[1]), to_weight, to_bias;
  if (weight.defined()) to_weight = over_x(c.dy(1));
  if (a.bias) to_bias = over_x(c.dy(2));
  auto weighted = [&](const Tensor& t) { return weight.defined() ? multiply(t, weight) : t; };
  Tensor t = to_weight.defined() ? multiply(dy, to_weight) : Tensor();
  NormalizedGrads n;
  if (a.fixed) {
    Tensor rstd = over_x(rsqrt(scale(c.in[3], 1, a.epsilon)));
    n.y = multiply(subtract(x, over_x(c.in[2])), rstd);
    if (h.defined()) n.dg = multiply(h, rstd);
    if (t.defined()) n.dx = multiply(t, rstd);
  } else {
    n = normalize_parts_grad(x, weighted(dy), h, t, axes, a.epsilon, true);
  }
  Tensor dweight, ddy = to_bias;
  if (to_weight.defined()) ddy = sum_of(ddy, multiply(n.y, to_weight));
  if (h.defined()) ddy = sum_of(ddy, weighted(n.dg));
  if (weight.defined() && h.defined()) dweight = sum(multiply(dy, n.dg), axes, false);
  if (ddy.defined()) ddy = expand_like(ddy, c.in[4]);
  if (!a.fixed) {
    ddy = unless_lone(x, a.channel_last, ddy, h);
    n.dx = unless_lone(x, a.channel_last, n.dx, Tensor());
    dweight = unless_lone(x, a.channel_last, dweight, Tensor());
  }
  return {n.dx.defined() ? cast(n.dx, c.in[0].dtype()) : Tensor(),
          dweight.defined() ? cast(dweight, c.in[1].dtype()) : Tensor(), Tensor(), Tensor(),
          ddy.defined() ? cast(ddy, c.in[4].dtype()) : Tensor()};
}

ARGOSY_OP(batch_norm_grad, BatchNormGradAttrs)
    .doc("Gradients of batch_norm, from x, the weight, the statistics that were used, and dy.")
    .input("x", kFloating, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .input("mean", kFloating, Save::value)
    .input("variance", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .output("dx")
    .output("dweight")
    .output("dbias")
    .infer(batch_norm_grad_infer)
    .kernel("channels", batch_norm_grad_run)
    .compose(batch_norm_grad_parts)
    .gradient(batch_norm_grad_second)
    .done();

Tensors batch_norm_grad_rule(const GradCall& c, const BatchNormAttrs& a) {
  const Tensor &weight = c.in[3], &bias = c.in[4];
  Tensors grads =
      batch_norm_grad_op.all({c.in[0], weight, c.out(1), c.out(2), c.dy()},
                             {a.epsilon, !a.batch_stats, a.channel_last, bias.defined()});
  Tensors out{grads[0], Tensor(), Tensor()};
  out.push_back(weight.defined() ? cast(grads[1], weight.dtype()) : Tensor());
  out.push_back(bias.defined() ? cast(grads[2], bias.dtype()) : Tensor());
  return out;
}

// From the statistics that its gradient needs anyway; the running ones are updated once.
bool from_statistics(op::Instead& instead, const BatchNormAttrs& a) {
  if (!a.batch_stats) return true;
  BatchNormAttrs given = a;
  given.batch_stats = false;
  given.given_own = true;
  instead.attrs = op::AttrBox(attr_type(&a), &given);
  instead.operands = {0, op::Instead::result(1), op::Instead::result(2), 3, 4};
  instead.results = 3;
  return true;
}
bool by_running_statistics(const op::Surroundings&, op::Instead& instead, const BatchNormAttrs& a) {
  if (!a.batch_stats) return false;
  BatchNormAttrs fixed = a;
  fixed.batch_stats = false;
  instead.attrs = op::AttrBox(attr_type(&a), &fixed);
  instead.operands = {0, 1, 2, 3, 4};
  instead.results = 1;  // the statistics are others
  return true;
}

ARGOSY_OP(batch_norm, BatchNormAttrs)
    .doc(
        "(x - mean) / sqrt(variance + epsilon) * weight + bias for each channel. With batch_stats "
        "the statistics are those of x, and the running ones are updated in place: momentum times "
        "themselves plus the rest of the new; otherwise the running ones are used. With one value "
        "for each channel batch_stats changes nothing: the result is x.")
    .shape(
        "x [n,c,*s], running_mean [c], running_var [c], weight [c], bias [c] -> [n,c,*s] | x "
        "[n,*s,c], running_mean [c], running_var [c], weight [c], bias [c] -> [n,*s,c]")
    .paper("1502.03167")
    .input("x", kFloating, Save::value)
    .input("running_mean", kFloating)
    .input("running_var", kFloating)
    .optional_input("weight", kFloating, Save::value)
    .optional_input("bias", kFloating, Save::shape)
    .output("out")
    .hidden_output("mean")
    .hidden_output("variance")
    .updates({1, 2}, [](const Inputs&, const BatchNormAttrs& a) { return a.batch_stats; })
    .infer(batch_norm_infer)
    .kernel("channels", batch_norm_run)
    .strided()
    .gradient(batch_norm_grad_rule)
    .again(from_statistics)
    .inference(by_running_statistics)
    .amp(op::Amp::leading)
    .done();

}  // namespace
}  // namespace argosy::ops
