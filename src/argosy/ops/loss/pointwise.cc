#include <cmath>
#include <numbers>

#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Losses of one element at a time, reduced.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::NoAttrs;

struct LossAttrs {
  std::string reduction = "mean";
};
ARGOSY_ATTRS(LossAttrs, reduction)

Tensor one_minus(const Tensor& x) {
  return scale(x, -1, 1);
}

// --- squares and absolute values ---

Tensors square_error_parts(const Inputs& in, const NoAttrs&) {
  return square(subtract(in[0], in[1]));
}
void square_error_infer(InferContext& c, const NoAttrs&) {
  infer_loss(c, "none");
}
ARGOSY_OP(square_error_cost, NoAttrs)
    .python("nn.functional.square_error_cost(input, label)")
    .doc("(input - label)^2, elementwise with broadcasting.")
    .shape("input [*s], label [*s] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.square_error_cost(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 4.0])).tolist()
[0.25, 4.0])")
    .input("input", kReal)
    .input("label", kReal)
    .output("out")
    .promote()
    .infer(square_error_infer)
    .compose(square_error_parts)
    .done();

Tensors mse_parts(const Inputs& in, const LossAttrs& a) {
  return reduced(square(subtract(in[0], in[1])), a.reduction);
}
ARGOSY_OP(mse_loss, LossAttrs)
    .python("nn.functional.mse_loss(input, label, reduction='mean', name=None)")
    .alias("target", "label")
    .doc("(input - label)^2, reduced.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 4.0])
>>> F.mse_loss(x, y).item()
2.125
>>> F.mse_loss(x, y, reduction="none").tolist()
[0.25, 4.0])")
    .input("input", kFloating)
    .input("label", kFloating)
    .output("loss")
    .infer(loss_infer<LossAttrs>)
    .compose(mse_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

Tensors l1_parts(const Inputs& in, const LossAttrs& a) {
  return reduced(abs(subtract(in[0], in[1])), a.reduction);
}
ARGOSY_OP(l1_loss, LossAttrs)
    .python("nn.functional.l1_loss(input, label, reduction='mean', name=None)")
    .alias("target", "label")
    .doc("|input - label|, reduced.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 4.0])
>>> F.l1_loss(x, y).item()
1.25
>>> F.l1_loss(x, y, reduction="none").tolist()
[0.5, 2.0])")
    .input("input", kFloating)
    .input("label", kFloating)
    .output("loss")
    .infer(loss_infer<LossAttrs>)
    .compose(l1_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

struct SmoothL1Attrs {
  std::string reduction = "mean";
  double delta = 1;
  bool is_huber = true;
};
ARGOSY_ATTRS(SmoothL1Attrs, reduction, delta, is_huber)

struct HuberAttrs {
  double delta = 1, factor = 1;
};
ARGOSY_ATTRS(HuberAttrs, delta, factor)

Tensors huber_parts(const Inputs& in, const HuberAttrs& a) {
  Tensor difference = subtract(in[0], in[1]), cut = clip(difference, -a.delta, a.delta);
  return scale(multiply(cut, subtract(difference, scale(cut, 0.5))), a.factor);
}
void huber_run(op::KernelFrame& f, const HuberAttrs& a) {
  const cpu::LoopParams numbers{a.delta, a.factor};
  run_elementwise(f, cpu::host_loops().huber, &numbers);
}
Tensors huber_gradient(const op::GradCall& c, const HuberAttrs& a) {
  const Tensor& x = c.in[0];
  const Tensor& y = c.in[1];
  const Tensor dx = multiply(scale(clip(subtract(x, y), -a.delta, a.delta), a.factor), c.dy());
  return {c.needs(0) ? sum_like(dx, x) : Tensor(),
          c.needs(1) ? sum_like(negative(dx), y) : Tensor()};
}
ARGOSY_OP(huber_error, HuberAttrs)
    .doc(
        "factor times what smooth_l1_loss adds up: with d = x - y, d^2 / 2 where |d| < delta, "
        "delta * (|d| - delta / 2) elsewhere.")
    .input("x", kFloating, op::Save::value)
    .input("y", kFloating, op::Save::value)
    .output("out")
    .promote()
    .elementwise()
    .compose(huber_parts)
    .kernel("fused", huber_run)
    .strided()
    .gradient(huber_gradient)
    .done();

void smooth_l1_infer(InferContext& c, const SmoothL1Attrs& a) {
  check_same_shape("smooth_l1_loss", "input", c.in[0], "label", c.in[1]);
  infer_loss(c, a.reduction);
}
Tensors smooth_l1_parts(const Inputs& in, const SmoothL1Attrs& a) {
  const double factor = a.is_huber ? 1 : 1 / a.delta;
  return reduced(huber_error_op(in[0], in[1], {a.delta, factor}), a.reduction);
}
ARGOSY_OP(smooth_l1_loss, SmoothL1Attrs)
    .python(
        "nn.functional.smooth_l1_loss(input, label, reduction='mean', delta=1.0, is_huber=True, "
        "name=None)")
    .doc(
        "With d = |input - label|: d^2 / 2 where d < delta, delta * (d - delta / 2) elsewhere; "
        "divided by delta unless is_huber.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 4.0])
>>> F.smooth_l1_loss(x, y).item()
0.8125
>>> F.smooth_l1_loss(x, y, reduction="none").tolist()
[0.125, 1.5])")
    .input("input", kFloating)
    .input("label", kFloating)
    .output("loss")
    .infer(smooth_l1_infer)
    .compose(smooth_l1_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- probabilities ---

struct KlAttrs {
  std::string reduction = "mean";
  bool log_target = false;
};
ARGOSY_ATTRS(KlAttrs, reduction, log_target)

void kl_infer(InferContext& c, const KlAttrs& a) {
  infer_loss(c, a.reduction == "batchmean" ? "sum" : a.reduction);
}
Tensors kl_parts(const Inputs& in, const KlAttrs& a) {
  const Tensor &x = in[0], &label = in[1];
  Tensor loss;
  if (a.log_target) {
    loss = multiply(exp(label), subtract(label, x));
  } else {
    Tensor some = above(label, 0);
    Tensor safe = add(multiply(some, label), one_minus(some));
    loss = multiply(multiply(some, label), subtract(log(safe), x));
  }
  if (a.reduction != "batchmean") return reduced(loss, a.reduction);
  if (x.rank() == 0) return loss;
  // The sum over everything but the batch, averaged over the batch: its size may be unknown.
  op::IntArray rest;
  for (int i = 1; i < x.rank(); ++i) rest.values.push_back(i);
  return mean(rest.size() ? sum(loss, rest) : loss);
}
ARGOSY_OP(kl_div, KlAttrs)
    .python("nn.functional.kl_div(input, label, reduction='mean', log_target=False, name=None)")
    .doc(
        "label * (log(label) - input), 0 where label is not positive; with log_target label is a "
        "logarithm too. reduction may be 'batchmean': the sum over the size of the first axis.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([0.5, 0.5]), argosy.to_tensor([0.25, 0.75])
>>> F.kl_div(x.log(), y, reduction="sum").item()
0.13081)")
    .input("input", kFloating)
    .input("label", kFloating)
    .output("loss")
    .infer(kl_infer)
    .compose(kl_parts)
    .done();

void log_loss_infer(InferContext& c, const LogLossAttrs&) {
  check_same_shape("log_loss", "input", c.in[0], "label", c.in[1]);
}
Tensors log_loss_parts(const Inputs& in, const LogLossAttrs& a) {
  Tensor hit = multiply(in[1], log(scale(in[0], 1, a.epsilon)));
  Tensor miss = multiply(one_minus(in[1]), log(scale(in[0], -1, 1 + a.epsilon)));
  return negative(add(hit, miss));
}
ARGOSY_OP(log_loss, LogLossAttrs)
    .python("nn.functional.log_loss(input, label, epsilon=0.0001, name=None)")
    .doc("-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon).")
    .shape("input [*s], label [*s] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.log_loss(argosy.to_tensor([[0.9], [0.2]]), argosy.to_tensor([[1.0], [0.0]])).tolist()
[[0.10525], [0.22302]])")
    .input("input", kFloating)
    .input("label", kFloating)
    .output("out")
    .infer(log_loss_infer)
    .compose(log_loss_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

struct PoissonAttrs {
  bool log_input = true;
  bool full = false;
  double epsilon = 1e-8;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(PoissonAttrs, log_input, full, epsilon, reduction)

void poisson_infer(InferContext& c, const PoissonAttrs& a) {
  ARGOSY_CHECK(a.epsilon > 0, invalid_argument)
      << "The value of `epsilon` in poisson_nll_loss should be positive, but received " << a.epsilon
      << ", which is not allowed.";
  check_same_shape("poisson_nll_loss", "input", c.in[0], "label", c.in[1]);
  infer_loss(c, a.reduction);
}
Tensors poisson_parts(const Inputs& in, const PoissonAttrs& a) {
  const Tensor& x = in[0];
  Tensor label = as_number(in[1], x);
  Tensor loss = a.log_input ? subtract(exp(x), multiply(label, x))
                            : subtract(x, multiply(label, log(scale(x, 1, a.epsilon))));
  if (a.full) {
    // Stirling's approximation of log(label!), for labels above 1.
    Tensor large = above(label, 1);
    Tensor safe = add(multiply(large, label), one_minus(large));
    Tensor root = scale(log(scale(safe, 2 * std::numbers::pi)), 0.5);
    loss = add(loss, multiply(large, add(subtract(multiply(safe, log(safe)), safe), root)));
  }
  return reduced(loss, a.reduction);
}
ARGOSY_OP(poisson_nll_loss, PoissonAttrs)
    .python(
        "nn.functional.poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-08, "
        "reduction='mean', name=None)")
    .doc(
        "exp(input) - label * input, or without log_input input - label * log(input + epsilon): "
        "the "
        "negative log-likelihood of counts. full adds an approximation of log(label!).")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.poisson_nll_loss(argosy.to_tensor([0.0, 1.0]), argosy.to_tensor([1.0, 2.0])).item()
0.85914)")
    .input("input", kFloating)
    .input("label", kReal)
    .output("loss")
    .infer(poisson_infer)
    .compose(poisson_parts)
    .done();

struct GaussianAttrs {
  bool full = false;
  double epsilon = 1e-6;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(GaussianAttrs, full, epsilon, reduction)

void gaussian_infer(InferContext& c, const GaussianAttrs& a) {
  const Shape &x = c.in[0].shape(), &variance = c.in[2].shape();
  bool fits = variance.rank() == x.rank() || variance.rank() + 1 == x.rank();
  for (int i = 0; fits && i < variance.rank(); ++i)
    fits = variance[i] == x[i] || variance[i] < 0 || x[i] < 0 ||
           (i == x.rank() - 1 && variance[i] == 1);
  ARGOSY_CHECK(fits, invalid_argument)
      << "[gaussian_nll_loss] variance is of incorrect shape: expected that of input " << x
      << ", without its last axis or with size 1 there, got " << variance
      << ". Do this: pass var of that shape.";
  check_reduction("gaussian_nll_loss", a.reduction);
  DType dtype = promote(promote(c.in[0].dtype(), c.in[1].dtype()), c.in[2].dtype());
  c.out[0] = {a.reduction == "none" ? broadcast(c.name(), x, c.in[1].shape()) : Shape{}, dtype};
}

// Variances where negative ones are an error and small ones are replaced, unseen by the gradient.
void floored_run(op::KernelFrame& f, const LogLossAttrs& a) {
  dispatch_floating(f.out[0].dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < f.out[0].numel(); ++i) {
      const T v = f.in[0].data<T>()[i];
      ARGOSY_CHECK(!(v < T(0)), invalid_argument)
          << "[gaussian_nll_loss] variance has negative entry/entries, e.g. "
          << static_cast<double>(v) << ". Do this: make it positive, with exp or softplus.";
      f.out[0].data<T>()[i] = static_cast<double>(v) < a.epsilon ? T(a.epsilon) : v;
    }
  });
}
Tensors floored_grad(const op::GradCall& c, const LogLossAttrs&) {
  return c.dy();
}
ARGOSY_OP(floored_variance, LogLossAttrs)
    .doc("max(x, epsilon), with the gradient of x; ValueError for negative elements.")
    .input("x", kFloating)
    .output("out")
    .kernel("loop", floored_run)
    .gradient(floored_grad)
    .done();

Tensors gaussian_parts(const Inputs& in, const GaussianAttrs& a) {
  Tensor variance = in[2].rank() < in[0].rank() ? unsqueeze(in[2], {-1}) : in[2];
  variance = floored_variance_op(variance, LogLossAttrs{a.epsilon});
  Tensor distance = divide(square(subtract(in[0], in[1])), variance);
  const double constant = a.full ? 0.5 * std::log(2 * std::numbers::pi) : 0;
  return reduced(scale(add(log(variance), distance), 0.5, constant), a.reduction);
}
ARGOSY_OP(gaussian_nll_loss, GaussianAttrs)
    .python(
        "nn.functional.gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-06, "
        "reduction='mean', name=None)")
    .doc(
        "(log(variance) + (input - label)^2 / variance) / 2, variance at least epsilon; full adds "
        "log(2 pi) / 2.")
    .shape("input [*s], label [*s], variance [*v] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 2.0])
>>> F.gaussian_nll_loss(x, y, argosy.ones([2])).item()
0.0625)")
    .input("input", kFloating)
    .input("label", kFloating)
    .input("variance", kFloating)
    .output("loss")
    .infer(gaussian_infer)
    .compose(gaussian_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
