#include <limits>

#include "argosy/op/autocast.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;

struct CrossEntropyAttrs {
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  bool soft_label = false;
  int64_t axis = -1;
  bool use_softmax = true;
  double label_smoothing = 0;
};
ARGOSY_ATTRS(CrossEntropyAttrs, ignore_index, reduction, soft_label, axis, use_softmax,
             label_smoothing)

int class_axis(const char* op, const Tensor& x, const Tensor& label, int64_t axis) {
  ARGOSY_CHECK(x.rank() > 0, invalid_argument)
      << '[' << op
      << "] The dimension of input should be larger than zero! Do this: pass scores [N, classes].";
  ARGOSY_CHECK(x.rank() == label.rank() || x.rank() - 1 == label.rank(), invalid_argument)
      << "Expected input_dims - 1 = label_dims or input_dims == label_dims (got input_dims"
      << x.rank() << ", label_dims" << label.rank() << "): [" << op << "] input is " << x
      << ", label is " << label
      << ". Do this: pass class numbers [N] or [N, 1], or soft labels of input's shape with "
         "soft_label=True.";
  ARGOSY_CHECK(-x.rank() <= axis && axis < x.rank(), invalid_argument)
      << '[' << op << "] axis must be in [" << -x.rank() << ", " << x.rank() << "), got " << axis
      << ". Do this: name the axis of the classes, -1 by default.";
  return normalize_axis(op, axis, x.rank());
}

void cross_entropy_infer(InferContext& c, const CrossEntropyAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1], &weight = c.in[2];
  const int axis = class_axis("cross_entropy", x, label, a.axis);
  ARGOSY_CHECK(0 <= a.label_smoothing && a.label_smoothing <= 1, invalid_argument)
      << "[cross_entropy] label_smoothing must be between 0 and 1, got " << a.label_smoothing
      << '.';
  if (weight.defined() && weight.numel() >= 0 && x.dim(axis) >= 0) {
    ARGOSY_CHECK(weight.numel() == x.dim(axis), invalid_argument)
        << "input's class_dimension(" << x.dim(axis) << ") must equal to weight's class_dimension("
        << weight.numel() << ") when weight is provided. Do this: pass one weight for each class.";
  }
  if (a.soft_label && label.rank() == x.rank())
    check_same_shape("cross_entropy", "input", x, "label", label);
  Shape shape = x.shape();
  if (label.rank() < x.rank() && a.label_smoothing == 0)
    shape.erase(axis);
  else
    shape[axis] = 1;
  infer_reduced(c, shape, a.reduction);
}

Tensor smoothed(const Tensor& x, const Tensor& label, int axis, bool hard, double epsilon) {
  Tensor probability = cast(label, x.dtype());
  if (hard) {
    Tensor numbers = class_numbers("cross_entropy", label);
    // A label outside the range is an error: no ignore_index here.
    probability = spread_class(x, numbers, full_like(numbers, 1, x.dtype()), axis,
                               std::numeric_limits<int64_t>::min());
  }
  return smooth_evenly(probability, axis, epsilon);
}

Tensors cross_entropy_parts(const Inputs& in, const CrossEntropyAttrs& a) {
  // 16-bit scores for which automatic casting wants float32: the kernel of hard labels computes so.
  const bool wide = op::is_widened(),
             narrow = wide && !a.soft_label && a.label_smoothing == 0 && a.use_softmax;
  const Tensor x = wide && !narrow ? cast(in[0], DType::float32) : in[0], &weight = in[2];
  const DType dtype = wide ? DType::float32 : x.dtype();
  const int axis = class_axis("cross_entropy", x, in[1], a.axis);
  const bool squeezed = in[1].rank() < x.rank();
  Tensor label = squeezed ? unsqueeze(in[1], op::IntArray{axis}) : in[1];
  Tensor loss, weights;
  bool weighted_average = weight.defined();
  if (a.soft_label || a.label_smoothing > 0) {
    const bool hard =
        !a.soft_label &&
        (squeezed || (is_integral(label.dtype()) && (label.dim(axis) == 1 || label.dim(axis) < 0)));
    label = a.label_smoothing > 0 ? smoothed(x, label, axis, hard, a.label_smoothing)
                                  : cast(label, x.dtype());
    Tensor log_probability = a.use_softmax ? log_softmax(x, axis) : log(x);
    loss = negative(sum(multiply(label, log_probability), {axis}, true));
    if (weight.defined()) {
      op::IntArray spread{-1};
      for (int i = axis + 1; i < x.rank(); ++i) spread.values.push_back(1);
      weights = sum(multiply(label, reshape(cast(weight, x.dtype()), spread)), {axis}, true);
      loss = multiply(loss, weights);
    }
    if (a.ignore_index >= 0) {
      // As in Paddle, the mean is then over the elements of the label, not over its rows.
      Tensor counted =
          cast(not_equal(label, full_like(label, static_cast<double>(a.ignore_index))), x.dtype());
      weights = weights.defined() ? multiply(counted, weights) : counted;
      weighted_average = true;
    }
  } else {
    label = class_numbers("cross_entropy", label);
    const int64_t classes = x.dim(axis);
    weighted_average = weight.defined() || a.ignore_index >= 0;
    if (weighted_average && (a.reduction == "mean" || !a.use_softmax))
      weights = class_weights(weight, label, a.ignore_index, classes, dtype);
    if (a.use_softmax) {
      // One kernel, unless the weights need a gradient.
      const bool apart = weight.defined() && !weight.stop_gradient();
      loss = hard_cross_entropy(x, label, apart ? Tensor() : weight, axis, a.ignore_index, narrow);
      if (apart)
        loss = multiply(loss, class_weights(weight, label, a.ignore_index, classes, dtype));
    } else {
      loss = negative(log(select_class(x, label, axis, a.ignore_index, 1)));
      if (weight.defined()) loss = multiply(loss, weights);
    }
  }
  if (a.reduction == "mean" && weighted_average) return weighted_mean(loss, weights);
  if (a.reduction != "none") return reduced(loss, a.reduction);
  // Smoothed labels have the axis, and so has the loss.
  return squeezed && a.label_smoothing == 0 ? squeeze(loss, op::IntArray{axis}) : loss;
}

ARGOSY_OP(cross_entropy, CrossEntropyAttrs)
    .doc(
        "-log of the probability that softmax along axis gives to the label, times weight[label]. "
        "label: class numbers, or with soft_label a probability for each class; label_smoothing "
        "spreads that part of it over all classes. Labels equal to ignore_index give 0.")
    .shape("input [*s], label [*t], weight [c] -> [*s']")
    .input("input", kFloating)
    .input("label")
    .optional_input("weight", kFloating)
    .output("loss")
    .infer(cross_entropy_infer)
    .compose(cross_entropy_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .widens()
    .done();

// --- loss and softmax ---

struct WithSoftmaxAttrs {
  bool soft_label = false;
  int64_t ignore_index = -100;
  bool numeric_stable_mode = true;
  int64_t axis = -1;
};
ARGOSY_ATTRS(WithSoftmaxAttrs, soft_label, ignore_index, numeric_stable_mode, axis)

void with_softmax_infer(InferContext& c, const WithSoftmaxAttrs& a) {
  const Tensor& x = c.in[0];
  const int axis = class_axis("softmax_with_cross_entropy", x, c.in[1], a.axis);
  if (a.soft_label) check_same_shape("softmax_with_cross_entropy", "logits", x, "label", c.in[1]);
  c.out[0].shape[axis] = 1;
}

Tensors with_softmax_parts(const Inputs& in, const WithSoftmaxAttrs& a) {
  const Tensor& x = in[0];
  const int axis = class_axis("softmax_with_cross_entropy", x, in[1], a.axis);
  Tensor label = in[1].rank() < x.rank() ? unsqueeze(in[1], op::IntArray{axis}) : in[1];
  Tensors out;
  if (a.soft_label) {
    Tensor log_probability = log_softmax(x, axis);
    out.push_back(negative(sum(multiply(cast(label, x.dtype()), log_probability), {axis}, true)));
    out.push_back(exp(log_probability));
    return out;
  }
  label = class_numbers("softmax_with_cross_entropy", label);
  out.push_back(hard_cross_entropy(x, label, Tensor(), axis, a.ignore_index));
  out.push_back(softmax(x, axis));
  return out;
}

ARGOSY_OP(softmax_with_cross_entropy, WithSoftmaxAttrs)
    .doc("(cross entropy with size 1 on axis, softmax of the logits along axis).")
    .shape("logits [*s], label [*t] -> [*s'], [*s]")
    .input("logits", kFloating)
    .input("label")
    .output("loss")
    .output("softmax")
    .infer(with_softmax_infer)
    .compose(with_softmax_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- negative log-likelihood ---

struct NllAttrs {
  int64_t ignore_index = -100;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(NllAttrs, ignore_index, reduction)

void nll_infer(InferContext& c, const NllAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "Expected 2 or more dimensions (got " << x.rank()
      << ") in [nll_loss]. Do this: pass log probabilities [N, classes, ..].";
  Shape each = label.shape();
  const bool kept = x.rank() == label.rank() && (each[1] == 1 || each[1] == kUnknown);
  if (kept) each.erase(1);
  ARGOSY_CHECK(kept || x.rank() - 1 == label.rank(), invalid_argument)
      << "Expected input_dims - 1 = label_dims or input_dims == label_dims (got input_dims"
      << x.rank() << ", label_dims" << label.rank() << "): [nll_loss] input is " << x
      << ", label is " << label
      << ". Do this: pass class numbers [N, ..] without the axis of classes, or with size 1 there.";
  infer_reduced(c, each, a.reduction);
}

Tensors nll_parts(const Inputs& in, const NllAttrs& a) {
  const Tensor& x = in[0];
  Tensor label = class_numbers("nll_loss", in[1]);
  if (label.rank() < x.rank()) label = unsqueeze(label, op::IntArray{1});
  Tensor weights = class_weights(in[2], label, a.ignore_index, x.dim(1), x.dtype());
  Tensor loss = negative(multiply(select_class(x, label, 1, a.ignore_index, 0), weights));
  if (a.reduction == "mean") return weighted_mean(loss, weights);
  return a.reduction == "sum" ? sum(loss) : squeeze(loss, op::IntArray{1});
}

ARGOSY_OP(nll_loss, NllAttrs)
    .python(
        "nn.functional.nll_loss(input, label, weight=None, ignore_index=-100, reduction='mean', "
        "name=None)")
    .doc(
        "-input[label] * weight[label], input [N, C, ..] being log probabilities; 0 where the "
        "label "
        "is ignore_index. The mean is over the weights.")
    .shape(
        "input [n,c,*d], label [n,*d], weight [c] -> [*s'] | input [n,c,*d], label [n,1,*d], "
        "weight "
        "[c] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.nll_loss(argosy.to_tensor([[-0.1, -2.0], [-3.0, -0.5]]), argosy.to_tensor([0, 1])).item()
0.3)")
    .input("input", kFloating)
    .input("label", kIndex)
    .optional_input("weight", kFloating)
    .output("loss")
    .infer(nll_infer)
    .compose(nll_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace
}  // namespace argosy::ops
