#include <algorithm>
#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Losses of yes and no.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

struct LossAttrs {
  std::string reduction = "mean";
};
ARGOSY_ATTRS(LossAttrs, reduction)

Tensor one_minus(const Tensor& x) {
  return scale(x, -1, 1);
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

void run_flat(const cpu::LoopTable& table, DType dtype, const void* x, void* y, int64_t n) {
  static constexpr int64_t kOne[] = {1};
  const cpu::Operand operands[] = {{const_cast<void*>(x), kOne, item_size(dtype)},
                                   {y, kOne, item_size(dtype)}};
  cpu::run_loop_flat(table[dtype], n, operands, nullptr, 5);
}

// Sizes that were unknown when a composition was opened are compared here.
void elements_infer(InferContext& c, const NoAttrs&) {
  expect_shape(c, 1, c.in[0].shape());
}

// --- elements from logits ---

// max(x, 0) - x z + log(1 + e^-|x|), which neither overflows nor cancels.
void logits_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &z = f.in[1], &out = f.out[0];
  const int64_t n = x.numel();
  run_flat(cpu::absolute_loops(), x.dtype(), x.raw(), out.raw(), n);
  run_flat(cpu::log_sigmoid_loops(), x.dtype(), out.raw(), out.raw(), n);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    using W = Wide<T>;
    const T *from = x.data<T>(), *label = z.data<T>();
    T* to = out.data<T>();
    parallel_for(n, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const W v = static_cast<W>(from[i]);
        to[i] = T((v > 0 ? v : W(0)) - v * static_cast<W>(label[i]) - static_cast<W>(to[i]));
      }
    });
  });
}

Tensors logits_grad(const GradCall& c, const NoAttrs&) {
  return {c.needs(0) ? multiply(c.dy(), subtract(sigmoid(c.in[0]), c.in[1])) : Tensor(),
          c.needs(1) ? negative(multiply(c.dy(), c.in[0])) : Tensor()};
}

ARGOSY_OP(logits_loss, NoAttrs)
    .doc("-log of the probability sigmoid(x) of label, elementwise; shapes and dtypes are equal.")
    .input("x", kFloating, Save::value)
    .input("label", kFloating, Save::value)
    .output("out")
    .infer(elements_infer)
    .kernel("loop", logits_run)
    .gradient(logits_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

void with_logits_infer(InferContext& c, const LossAttrs& a) {
  check_same_shape("binary_cross_entropy_with_logits", "logit", c.in[0], "label", c.in[1]);
  infer_loss(c, a.reduction);
  c.out[0].dtype = c.in[0].dtype();
}
Tensors with_logits_parts(const Inputs& in, const LossAttrs& a) {
  const Tensor& x = in[0];
  Tensor label = cast(in[1], x.dtype()), loss;
  if (in[3].defined()) {
    // The part of the loss that is there for positive labels counts pos_weight times.
    Tensor factor = scale(multiply(label, scale(cast(in[3], x.dtype()), 1, -1)), 1, 1);
    loss = subtract(multiply(one_minus(label), x), multiply(factor, log_sigmoid(x)));
  } else {
    loss = logits_loss(x, label);
  }
  if (in[2].defined()) loss = multiply(loss, cast(in[2], x.dtype()));
  return reduced(loss, a.reduction);
}
ARGOSY_OP(binary_cross_entropy_with_logits, LossAttrs)
    .python(
        "nn.functional.binary_cross_entropy_with_logits(logit, label, weight=None, "
        "reduction='mean', pos_weight=None, name=None)")
    .doc(
        "-label * log(sigmoid(logit)) - (1 - label) * log(1 - sigmoid(logit)), times weight; "
        "pos_weight is a factor on the first part.")
    .shape("logit [*s], label [*s], weight [*w], pos_weight [*p] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> logit, label = argosy.to_tensor([2.0, -1.0]), argosy.to_tensor([1.0, 0.0])
>>> F.binary_cross_entropy_with_logits(logit, label).item()
0.22009)")
    .input("logit", kFloating)
    .input("label", kReal)
    .optional_input("weight", kFloating)
    .optional_input("pos_weight", kFloating)
    .output("loss")
    .infer(with_logits_infer)
    .compose(with_logits_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

struct FocalAttrs {
  double alpha = 0.25, gamma = 2;
  std::string reduction = "sum";
};
ARGOSY_ATTRS(FocalAttrs, alpha, gamma, reduction)

void focal_infer(InferContext& c, const FocalAttrs& a) {
  check_same_shape("sigmoid_focal_loss", "logit", c.in[0], "label", c.in[1]);
  ARGOSY_CHECK(!c.in[2].defined() || c.in[2].rank() <= 1, invalid_argument)
      << "Expected zero or one dimension of normalizer in sigmoid_focal_loss but got "
      << c.in[2].rank() << '.';
  infer_loss(c, a.reduction);
  c.out[0].dtype = c.in[0].dtype();
}
Tensors focal_parts(const Inputs& in, const FocalAttrs& a) {
  const Tensor& x = in[0];
  Tensor label = cast(in[1], x.dtype()), p = sigmoid(x);
  // 1 - p_t = p + z - 2 p z, and the like for alpha.
  Tensor wrong = subtract(add(p, label), scale(multiply(p, label), 2));
  Tensor alpha = scale(label, 2 * a.alpha - 1, 1 - a.alpha);
  Tensor loss = multiply(multiply(alpha, logits_loss(x, label)), pow(wrong, a.gamma));
  if (in[2].defined()) loss = divide(loss, cast(in[2], x.dtype()));
  return reduced(loss, a.reduction);
}
ARGOSY_OP(sigmoid_focal_loss, FocalAttrs)
    .python(
        "nn.functional.sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, "
        "reduction='sum', name=None)")
    .doc(
        "Binary cross entropy from logits, times (1 - p)^gamma for the probability p of the label "
        "and alpha or 1 - alpha for labels 1 and 0; over normalizer.")
    .shape("logit [*s], label [*s], normalizer [*n] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> logit, label = argosy.to_tensor([2.0, -1.0]), argosy.to_tensor([1.0, 0.0])
>>> F.sigmoid_focal_loss(logit, label).item()
0.017444)")
    .paper("1708.02002")
    .input("logit", kFloating)
    .input("label", kReal)
    .optional_input("normalizer", kFloating)
    .output("loss")
    .infer(focal_infer)
    .compose(focal_parts)
    .done();

// --- elements from probabilities ---

void probability_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &z = f.in[1], &out = f.out[0];
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    using W = Wide<T>;
    const T *from = x.data<T>(), *label = z.data<T>();
    T* to = out.data<T>();
    parallel_for(x.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const W p = static_cast<W>(from[i]), y = static_cast<W>(label[i]);
        ARGOSY_CHECK(p >= 0 && p <= 1, invalid_argument)
            << "[binary_cross_entropy] input must be in [0, 1], got " << static_cast<double>(p)
            << ". Do this: apply sigmoid, or use binary_cross_entropy_with_logits.";
        to[i] =
            T((y - 1) * std::max(std::log(1 - p), W(-100)) - y * std::max(std::log(p), W(-100)));
      }
    });
  });
}

Tensors probability_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &p = c.in[0], &label = c.in[1];
  Tensor dp, dlabel;
  if (c.needs(0)) {
    Tensor spread = multiply(p, one_minus(p));
    spread = maximum(spread, full_like(spread, 1e-12));
    dp = multiply(c.dy(), divide(subtract(p, label), spread));
  }
  if (c.needs(1)) {
    auto bounded = [](const Tensor& t) {
      Tensor l = log(t);
      return maximum(l, full_like(l, -100));
    };
    dlabel = multiply(c.dy(), subtract(bounded(one_minus(p)), bounded(p)));
  }
  return {dp, dlabel};
}

ARGOSY_OP(probability_loss, NoAttrs)
    .doc("-log of the probability p of label, elementwise; logarithms are at least -100.")
    .input("p", kFloating, Save::value)
    .input("label", kFloating, Save::value)
    .output("out")
    .infer(elements_infer)
    .kernel("loop", probability_run)
    .gradient(probability_grad)
    .done();

void binary_infer(InferContext& c, const LossAttrs& a) {
  check_same_shape("binary_cross_entropy", "input", c.in[0], "label", c.in[1]);
  infer_loss(c, a.reduction);
  c.out[0].dtype = c.in[0].dtype();
}
Tensors binary_parts(const Inputs& in, const LossAttrs& a) {
  Tensor loss = probability_loss_op(in[0], cast(in[1], in[0].dtype()));
  if (in[2].defined()) loss = multiply(loss, cast(in[2], in[0].dtype()));
  return reduced(loss, a.reduction);
}
ARGOSY_OP(binary_cross_entropy, LossAttrs)
    .python(
        "nn.functional.binary_cross_entropy(input, label, weight=None, reduction='mean', "
        "name=None)")
    .doc("-label * log(input) - (1 - label) * log(1 - input), times weight; input in [0, 1].")
    .shape("input [*s], label [*s], weight [*w] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> p, label = argosy.to_tensor([0.9, 0.2]), argosy.to_tensor([1.0, 0.0])
>>> F.binary_cross_entropy(p, label).item()
0.16425)")
    .input("input", kFloating)
    .input("label", kReal)
    .optional_input("weight", kFloating)
    .output("loss")
    .infer(binary_infer)
    .compose(binary_parts)
    .done();

// --- margins ---

void same_infer(InferContext& c, const LossAttrs& a) {
  check_same_shape(c.name(), "input", c.in[0], "label", c.in[1]);
  infer_loss(c, a.reduction);
}

Tensors soft_margin_parts(const Inputs& in, const LossAttrs& a) {
  return reduced(negative(log_sigmoid(multiply(cast(in[1], in[0].dtype()), in[0]))), a.reduction);
}
ARGOSY_OP(soft_margin_loss, LossAttrs)
    .python("nn.functional.soft_margin_loss(input, label, reduction='mean', name=None)")
    .doc("log(1 + exp(-label * input)), labels being -1 or 1.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, label = argosy.to_tensor([0.5, 2.0]), argosy.to_tensor([1.0, -1.0])
>>> F.soft_margin_loss(x, label).item()
1.3005)")
    .input("input", kFloating)
    .input("label", kReal)
    .output("loss")
    .infer(same_infer)
    .compose(soft_margin_parts)
    .done();

void multi_label_infer(InferContext& c, const LossAttrs& a) {
  ARGOSY_CHECK(c.in[0].shape().rank() > 0, invalid_argument)
      << "[multi_label_soft_margin_loss] input must have at least 1 dimension, got a 0-d tensor. "
         "Do this: "
         "pass [batch, classes].";
  check_same_shape(c.name(), "input", c.in[0], "label", c.in[1]);
  Shape shape = c.in[0].shape();
  shape.erase(shape.rank() - 1);
  infer_reduced(c, shape, a.reduction);
}
Tensors multi_label_parts(const Inputs& in, const LossAttrs& a) {
  Tensor loss = logits_loss(in[0], cast(in[1], in[0].dtype()));
  if (in[2].defined()) loss = multiply(loss, cast(in[2], in[0].dtype()));
  return reduced(mean(loss, {-1}), a.reduction);
}
ARGOSY_OP(multi_label_soft_margin_loss, LossAttrs)
    .python(
        "nn.functional.multi_label_soft_margin_loss(input, label, weight=None, reduction='mean', "
        "name=None)")
    .doc("Binary cross entropy from logits times weight, averaged over the last axis.")
    .shape("input [n,c], label [n,c], weight [*w] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.multi_label_soft_margin_loss(argosy.to_tensor([[1.0, -1.0]]), argosy.to_tensor([[1.0, 0.0]])).item()
0.31326)")
    .input("input", kFloating)
    .input("label", kReal)
    .optional_input("weight", kFloating)
    .output("loss")
    .infer(multi_label_infer)
    .compose(multi_label_parts)
    .done();

struct HingeAttrs {
  double margin = 1;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(HingeAttrs, margin, reduction)

Tensors hinge_parts(const Inputs& in, const HingeAttrs& a) {
  const Tensor &x = in[0], &label = in[1];
  Tensor near = multiply(is_value(label, 1, x.dtype()), x);
  Tensor far = multiply(is_value(label, -1, x.dtype()), relu(scale(x, -1, a.margin)));
  return reduced(add(near, far), a.reduction);
}
ARGOSY_OP(hinge_embedding_loss, HingeAttrs)
    .python(
        "nn.functional.hinge_embedding_loss(input, label, margin=1.0, reduction='mean', name=None)")
    .doc("input where label is 1, max(0, margin - input) where it is -1.")
    .shape("input [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, label = argosy.to_tensor([0.5, 2.0]), argosy.to_tensor([1.0, -1.0])
>>> F.hinge_embedding_loss(x, label).item()
0.25)")
    .input("input", kFloating)
    .input("label", kReal)
    .output("loss")
    .infer(loss_infer<HingeAttrs>)
    .compose(hinge_parts)
    .done();

struct RankingAttrs {
  double margin = 0;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(RankingAttrs, margin, reduction)

Tensors ranking_parts(const Inputs& in, const RankingAttrs& a) {
  Tensor wrong = multiply(subtract(in[1], in[0]), as_number(in[2], in[0]));
  return reduced(relu(scale(wrong, 1, a.margin)), a.reduction);
}
ARGOSY_OP(margin_ranking_loss, RankingAttrs)
    .python(
        "nn.functional.margin_ranking_loss(input, other, label, margin=0.0, reduction='mean', "
        "name=None)")
    .doc("max(0, -label * (input - other) + margin).")
    .shape("input [*s], other [*s], label [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([2.0, 1.0])
>>> F.margin_ranking_loss(x, y, argosy.to_tensor([1.0, 1.0])).item()
0.5)")
    .input("input", kFloating)
    .input("other", kFloating)
    .input("label", kReal)
    .output("loss")
    .infer(loss_infer<RankingAttrs>)
    .compose(ranking_parts)
    .done();

}  // namespace

Tensor logits_loss(const Tensor& x, const Tensor& label) {
  return logits_loss_op(x, label);
}

}  // namespace argosy::ops
