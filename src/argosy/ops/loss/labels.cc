#include <algorithm>
#include <cstring>

#include "argosy/kernels/cpu/rows.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/indexing/called.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Ops that read class numbers. A label has the shape of x with size 1 on the axis of the classes.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

// [outer, classes, inner]
struct Places {
  int64_t outer = 1, classes = 1, inner = 1;
};
Places places_of(const Tensor& x, int64_t axis) {
  Places p;
  const int d = normalize_axis("cross_entropy", axis, x.rank());
  for (int i = 0; i < x.rank(); ++i) (i < d ? p.outer : i == d ? p.classes : p.inner) *= x.dim(i);
  return p;
}

int64_t label_at(const Tensor& label, int64_t i) {
  return label.dtype() == DType::int32 ? label.data<int32_t>()[i] : label.data<int64_t>()[i];
}

void check_labels(const char* op, const Tensor& label, int64_t classes, int64_t ignore_index) {
  for (int64_t i = 0; i < label.numel(); ++i) {
    const int64_t v = label_at(label, i);
    ARGOSY_CHECK((0 <= v && v < classes) || v == ignore_index, index)
        << '[' << called_name(op) << "] label " << v << " is out of range: expected 0 <= label < "
        << classes << " (the number of classes) or ignore_index " << ignore_index
        << ". Do this: check the labels and the size of the last layer.";
  }
}

void check_label_shape(const char* op, const Tensor& x, const Tensor& label, int64_t axis) {
  const int d = normalize_axis(op, axis, x.rank());
  bool fits = x.rank() == label.rank();
  for (int i = 0; fits && i < x.rank(); ++i) {
    int64_t want = i == d ? 1 : x.dim(i);
    fits = want == label.dim(i) || want < 0 || label.dim(i) < 0;
  }
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op << "] label must have the shape of the scores with size 1 on axis " << d
      << ": scores are " << x << ", label is " << label
      << ". Do this: unsqueeze the label on that axis.";
}

// --- select, spread ---

void select_infer(InferContext& c, const ClassAttrs& a) {
  check_label_shape(c.name(), c.in[0], c.in[1], a.axis);
  c.out[0].shape = c.in[1].shape();
}

void select_run(KernelFrame& f, const ClassAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[1];
  Places p = places_of(x, a.axis);
  check_labels(f.name(), label, p.classes, a.ignore_index);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < label.numel(); ++i) {
      const int64_t v = label_at(label, i);
      f.out[0].data<T>()[i] =
          v == a.ignore_index ? T(a.fill)
                              : x.data<T>()[(i / p.inner * p.classes + v) * p.inner + i % p.inner];
    }
  });
}

Tensors select_grad(const GradCall& c, const ClassAttrs& a) {
  return {spread_class(c.in[0], c.in[1], c.dy(), a.axis, a.ignore_index), Tensor()};
}

ARGOSY_OP(select_class, ClassAttrs)
    .doc("x at the class that each label names along axis; fill where the label is ignore_index.")
    .input("x", kFloating, Save::shape)
    .input("label", kIndex, Save::value)
    .output("out")
    .infer(select_infer)
    .kernel("gather", select_run)
    .gradient(select_grad)
    .done();

void spread_infer(InferContext& c, const ClassAttrs& a) {
  check_label_shape(c.name(), c.in[0], c.in[1], a.axis);
  c.out[0].dtype = c.in[2].dtype();
}

void spread_run(KernelFrame& f, const ClassAttrs& a) {
  const Tensor &label = f.in[1], &value = f.in[2], &out = f.out[0];
  Places p = places_of(out, a.axis);
  check_labels(f.name(), label, p.classes, a.ignore_index);
  std::memset(out.raw(), 0, out.nbytes());
  dispatch_floating(out.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < label.numel(); ++i) {
      const int64_t v = label_at(label, i);
      if (v != a.ignore_index)
        out.data<T>()[(i / p.inner * p.classes + v) * p.inner + i % p.inner] = value.data<T>()[i];
    }
  });
}

Tensors spread_grad(const GradCall& c, const ClassAttrs& a) {
  return {Tensor(), Tensor(), select_class(c.dy(), c.in[1], a.axis, a.ignore_index, 0)};
}

ARGOSY_OP(spread_class, ClassAttrs)
    .doc("Zeros of like's shape with value, of label's shape, at the class that each label names.")
    .input("like", kAny)
    .shape_only()
    .input("label", kIndex, Save::value)
    .input("value", kFloating)
    .output("out")
    .infer(spread_infer)
    .kernel("scatter", spread_run)
    .gradient(spread_grad)
    .done();

// --- weights ---

void weights_infer(InferContext& c, const ClassWeightsAttrs& a) {
  c.out[0] = {c.in[1].shape(), a.dtype};
  ARGOSY_CHECK(
      !c.in[0].defined() || a.classes < 0 || c.in[0].numel() < 0 || c.in[0].numel() == a.classes,
      invalid_argument)
      << "[cross_entropy] weight must have one element for each of the " << a.classes
      << " classes, got " << c.in[0] << ". Do this: pass one weight for each class.";
}

void weights_run(KernelFrame& f, const ClassWeightsAttrs& a) {
  const Tensor& label = f.in[1];
  Tensor weight = as_dtype(f.in[0], a.dtype);
  if (weight.defined()) check_labels(f.name(), label, weight.numel(), a.ignore_index);
  dispatch_floating(a.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < label.numel(); ++i) {
      const int64_t v = label_at(label, i);
      f.out[0].data<T>()[i] = v == a.ignore_index ? T(0)
                              : weight.defined()  ? weight.data<T>()[v]
                                                  : T(1);
    }
  });
}

// What runs where the weights need a gradient.
Tensors weights_parts(const Inputs& in, const ClassWeightsAttrs& a) {
  const Tensor &weight = in[0], &label = in[1];
  Tensor counted = scale(is_value(label, static_cast<double>(a.ignore_index), a.dtype), -1, 1);
  if (!weight.defined()) return {counted};
  Tensor numbers = multiply(label, cast(counted, label.dtype()));
  Tensor found = embedding(numbers, reshape(cast(weight, a.dtype), {-1, 1}));
  return {multiply(squeeze(found, op::IntArray{-1}), counted)};
}

ARGOSY_OP(class_weights, ClassWeightsAttrs)
    .doc("weight[label], or 1 without weight; 0 where the label is ignore_index.")
    .optional_input("weight", kFloating)
    .input("label", kIndex)
    .output("out")
    .infer(weights_infer)
    .kernel("gather", weights_run)
    .compose(weights_parts)
    .done();

// --- softmax and negative log-likelihood in one ---

DType loss_type(const Tensor& x, const HardCrossEntropyAttrs& a) {
  return a.wide && kHalf.has(x.dtype()) ? DType::float32 : x.dtype();
}

void hard_infer(InferContext& c, const HardCrossEntropyAttrs& a) {
  const Tensor& x = c.in[0];
  check_label_shape("cross_entropy", x, c.in[1], a.axis);
  const int64_t classes = x.dim(normalize_axis(c.name(), a.axis, x.rank()));
  check_parameter("cross_entropy", "weight", c.in[2], classes, x.shape());
  c.out[0] = {c.in[1].shape(), loss_type(x, a)};
  const int64_t rows =
      x.numel() < 0 || classes <= 0 ? (classes ? kUnknown : 0) : x.numel() / classes;
  c.out[1].shape = {rows, classes};
  if (kHalf.has(x.dtype())) c.out[1] = {{rows, 2}, DType::float32};
}

// x as rows of classes: itself, or a copy where the classes do not lie side by side.
Tensor as_rows(const Tensor& x, const Places& p) {
  if (p.inner == 1) return x;
  Tensor rows = Tensor::empty({p.outer, p.inner, p.classes}, x.dtype(), x.place());
  op::copy_into(rows, x.view(rows.shape(), {p.classes * p.inner, 1, p.inner}));
  return rows;
}

void hard_run(KernelFrame& f, const HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[1];
  if (label.numel() == 0) return;
  Places p = places_of(x, a.axis);
  check_labels("cross_entropy", label, p.classes, a.ignore_index);
  const DType type = loss_type(x, a);
  Tensor weight = as_dtype(f.in[2], type);
  if (cpu::cross_entropy_goes_by_columns(x.dtype(), p.classes, p.inner))
    return cpu::cross_entropy_columns(type, x.raw(), label.dtype(), label.raw(),
                                      raw_or_null(weight), p.outer, p.classes, p.inner,
                                      a.ignore_index, f.out[0].raw(), f.out[1].raw());
  Tensor rows = as_rows(x, p);
  if (kHalf.has(x.dtype()))
    cpu::narrow_cross_entropy(x.dtype(), rows.raw(), label.dtype(), label.raw(), type,
                              raw_or_null(weight), p.outer * p.inner, p.classes, a.ignore_index,
                              f.out[0].raw(), f.out[1].data<float>());
  else
    cpu::cross_entropy(type, rows.raw(), label.dtype(), label.raw(), raw_or_null(weight),
                       p.outer * p.inner, p.classes, a.ignore_index, f.out[0].raw(),
                       f.out[1].raw());
}

void hard_grad_run(KernelFrame& f, const HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &kept = f.in[1], &label = f.in[2], &dloss = f.in[4];
  const Tensor& dx = f.out[0];
  if (label.numel() == 0) return;
  Places p = places_of(x, a.axis);
  check_labels("cross_entropy", label, p.classes, a.ignore_index);
  const DType type = loss_type(x, a);
  Tensor weight = as_dtype(f.in[3], type);
  Tensor rows = p.inner == 1 ? dx : Tensor::empty({p.outer, p.inner, p.classes}, x.dtype());
  if (kHalf.has(x.dtype()))
    cpu::narrow_cross_entropy_grad(
        x.dtype(), as_rows(x, p).raw(), kept.data<float>(), label.dtype(), label.raw(), type,
        raw_or_null(weight), dloss.raw(), p.outer * p.inner, p.classes, a.ignore_index, rows.raw());
  else
    cpu::cross_entropy_grad(type, kept.raw(), label.dtype(), label.raw(), raw_or_null(weight),
                            dloss.raw(), 1, p.outer * p.inner, p.classes, a.ignore_index,
                            rows.raw());
  if (p.inner != 1) op::copy_into(dx.view(rows.shape(), {p.classes * p.inner, 1, p.inner}), rows);
}

void hard_grad_infer(InferContext& c, const HardCrossEntropyAttrs& a) {
  const Tensor& x = c.in[0];
  check_label_shape(c.name(), x, c.in[2], a.axis);
  const int64_t classes = x.dim(normalize_axis(c.name(), a.axis, x.rank()));
  const bool narrow = kHalf.has(x.dtype());  // two float32 numbers a row are kept, else the softmax
  const DType kept = narrow ? DType::float32 : x.dtype();
  ARGOSY_CHECK(c.in[1].dtype() == kept, invalid_argument)
      << '[' << c.name() << "] kept: expected " << kept << " for scores of " << x.dtype()
      << ", got " << c.in[1] << ". Do this: pass what the forward operation gave.";
  const int64_t labels = c.in[2].numel();
  expect_size(c, 1, narrow ? (labels < 0 ? labels : 2 * labels) : x.numel());
  expect_size(c, 3, classes);
  expect_size(c, 4, c.in[2].numel());
  expect_dtype(c, 4, loss_type(x, a));
}

Tensors hard_grad_parts(const Inputs& in, const HardCrossEntropyAttrs& a) {
  const Tensor x = cast(in[0], loss_type(in[0], a)), &label = in[2], &dloss = in[4];
  const int64_t classes = x.dim(normalize_axis("cross_entropy", a.axis, x.rank()));
  Tensor factor = multiply(dloss, class_weights(in[3], label, a.ignore_index, classes, x.dtype()));
  return cast(subtract(multiply(softmax(x, a.axis), factor),
                       spread_class(x, label, factor, a.axis, a.ignore_index)),
              in[0].dtype());
}

// h: the gradient of dx = (softmax(x) - 1 at the label) * weight[label] * dloss.
Tensors hard_grad_second(const GradCall& c, const HardCrossEntropyAttrs& a) {
  const DType type = loss_type(c.in[0], a);
  const Tensor x = cast(c.in[0], type), h = cast(c.dy(), type), &label = c.in[2], &dloss = c.in[4];
  const int axis = normalize_axis("cross_entropy", a.axis, x.rank());
  Tensor weights = class_weights(c.in[3], label, a.ignore_index, x.dim(axis), x.dtype());
  Tensor p = softmax(x, axis);
  Tensors out;
  out.resize(5);
  if (c.needs(0))
    out[0] = cast(softmax_grad(p, multiply(h, multiply(dloss, weights)), axis), c.in[0].dtype());
  if (c.needs(4)) {
    Tensor at_label = select_class(h, label, axis, a.ignore_index, 0);
    out[4] = multiply(subtract(sum(multiply(h, p), {axis}, true), at_label), weights);
  }
  return out;
}

ARGOSY_OP(hard_cross_entropy_grad, HardCrossEntropyAttrs)
    .doc("Gradient of hard_cross_entropy, from what that kept.")
    .input("x", kFloating, Save::value)
    .input("kept", kFloating)
    .input("label", kIndex, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .input("dloss", kFloating, Save::value)
    .output("dx")
    .infer(hard_grad_infer)
    .kernel("rows", hard_grad_run)
    .overwrites()
    .compose(hard_grad_parts)
    .gradient(hard_grad_second)
    .done();

Tensors hard_grad(const GradCall& c, const HardCrossEntropyAttrs& a) {
  const Tensor in[] = {c.in[0], c.out(1), c.in[1], c.in[2], c.dy()};
  return {hard_cross_entropy_grad_op.one(in, a), Tensor(), Tensor()};
}

ARGOSY_OP(hard_cross_entropy, HardCrossEntropyAttrs)
    .doc(
        "-log softmax(x)[label] * weight[label] along axis; 0 where the label is ignore_index. The "
        "result has label's shape: that of x with size 1 on axis. What it keeps for the gradient "
        "is "
        "the softmax, of 16-bit x two float32 numbers of each row, from which it is made again. "
        "wide: the loss of 16-bit x is float32, as if x had been cast before.")
    .input("x", kFloating, Save::value)
    .input("label", kIndex, Save::value)
    .optional_input("weight", kFloating, Save::value)
    .output("loss")
    .hidden_output("kept")
    .infer(hard_infer)
    .kernel("rows", hard_run)
    .gradient(hard_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace

Tensor class_numbers(const char* op, const Tensor& label) {
  ARGOSY_CHECK(!is_complex(label.dtype()), type)
      << '[' << op << "] labels must be integers, got " << label
      << ". Do this: call label.astype('int64').";
  return kIndex.has(label.dtype()) ? label : cast(label, DType::int64);
}
Tensor select_class(const Tensor& x, const Tensor& label, int64_t axis, int64_t ignore_index,
                    double fill) {
  return select_class_op(x, label, ClassAttrs{axis, ignore_index, fill});
}
Tensor spread_class(const Tensor& like, const Tensor& label, const Tensor& value, int64_t axis,
                    int64_t ignore_index) {
  return spread_class_op(like, label, value, ClassAttrs{axis, ignore_index, 0});
}
Tensor class_weights(const Tensor& weight, const Tensor& label, int64_t ignore_index,
                     int64_t classes, DType dtype) {
  return class_weights_op(weight, label, ClassWeightsAttrs{ignore_index, classes, dtype});
}
Tensor hard_cross_entropy(const Tensor& x, const Tensor& label, const Tensor& weight, int64_t axis,
                          int64_t ignore_index, bool wide) {
  return hard_cross_entropy_op(x, label, weight, {axis, ignore_index, wide});
}

}  // namespace argosy::ops
