#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Losses of vectors against vectors and of scores against class numbers.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::NoAttrs;

struct CosineAttrs {
  double margin = 0;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(CosineAttrs, margin, reduction)

void cosine_infer(InferContext& c, const CosineAttrs& a) {
  const Tensor &x = c.in[0], &y = c.in[1], &label = c.in[2];
  ARGOSY_CHECK(label.rank() == 1, invalid_argument)
      << "1D target tensor expected, multi-target not supported [cosine_embedding_loss]: label is "
      << label << '.';
  check_same_shape("cosine_embedding_loss", "input1", x, "input2", y);
  ARGOSY_CHECK(x.rank() == 1 || x.rank() == 2, invalid_argument)
      << "1D target tensor expects 1D or 2D input tensors, but found inputs with different sizes "
         "[cosine_embedding_loss]: input1 is "
      << x << '.';
  Shape rows = x.shape();
  rows.erase(rows.rank() - 1);
  infer_reduced(c, broadcast(c.name(), rows, label.shape()), a.reduction);
}

Tensors cosine_parts(const Inputs& in, const CosineAttrs& a) {
  const Tensor &x = in[0], &y = in[1], &label = in[2];
  constexpr double kTiny = 1e-11;
  Tensor sizes =
      multiply(scale(sum(square(x), {-1}), 1, kTiny), scale(sum(square(y), {-1}), 1, kTiny));
  Tensor cosine = divide(sum(multiply(x, y), {-1}), sqrt(sizes));
  Tensor near = multiply(is_value(label, 1, x.dtype()), scale(cosine, -1, 1));
  Tensor far = multiply(is_value(label, -1, x.dtype()), relu(scale(cosine, 1, -a.margin)));
  return reduced(add(near, far), a.reduction);
}

ARGOSY_OP(cosine_embedding_loss, CosineAttrs)
    .python(
        "nn.functional.cosine_embedding_loss(input1, input2, label, margin=0, reduction='mean', "
        "name=None)")
    .doc(
        "1 - cos(input1, input2) where label is 1, max(0, cos - margin) where it is -1; the "
        "vectors "
        "lie along the last axis.")
    .shape("input1 [*b,k], input2 [*b,k], label [*b] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([[1.0, 0.0]]), argosy.to_tensor([[0.0, 1.0]])
>>> F.cosine_embedding_loss(x, y, argosy.to_tensor([1])).item()
1.0)")
    .input("input1", kFloating)
    .input("input2", kFloating)
    .input("label", kReal)
    .output("loss")
    .infer(cosine_infer)
    .compose(cosine_parts)
    .done();

struct TripletAttrs {
  double margin = 1, p = 2, epsilon = 1e-6;
  bool swap = false;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(TripletAttrs, margin, p, epsilon, swap, reduction)

void triplet_infer(InferContext& c, const TripletAttrs& a) {
  ARGOSY_CHECK(a.margin >= 0, invalid_argument)
      << "The margin between positive samples and negative samples should be greater than 0 "
         "[triplet_margin_loss], got "
      << a.margin << '.';
  check_same_shape("triplet_margin_loss", "input", c.in[0], "positive", c.in[1]);
  check_same_shape("triplet_margin_loss", "input", c.in[0], "negative", c.in[2]);
  Shape rows = c.in[0].shape();
  ARGOSY_CHECK(rows.rank() > 0, invalid_argument)
      << "[triplet_margin_loss] input must have at least 1 dimension, got a 0-d tensor. Do this: "
         "pass [batch, "
         "features].";
  rows.erase(rows.rank() - 1);
  infer_reduced(c, rows, a.reduction);
}

Tensors triplet_parts(const Inputs& in, const TripletAttrs& a) {
  auto distance = [&](const Tensor& x, const Tensor& y) {
    return squeeze(norm_along(scale(subtract(x, y), 1, a.epsilon), a.p, {-1}), op::IntArray{-1});
  };
  Tensor positive = distance(in[0], in[1]), negative_distance = distance(in[0], in[2]);
  if (a.swap) negative_distance = minimum(negative_distance, distance(in[1], in[2]));
  return reduced(relu(scale(subtract(positive, negative_distance), 1, a.margin)), a.reduction);
}

ARGOSY_OP(triplet_margin_loss, TripletAttrs)
    .python(
        "nn.functional.triplet_margin_loss(input, positive, negative, margin=1.0, p=2, "
        "epsilon=1e-06, swap=False, reduction='mean', name=None)")
    .doc(
        "max(0, d(input, positive) - d(input, negative) + margin) with the p-norm distance; swap: "
        "d(positive, negative) instead of the latter where it is smaller.")
    .shape("input [*s], positive [*s], negative [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> anchor, positive, negative = argosy.ones([2, 3]), argosy.ones([2, 3]), argosy.zeros([2, 3])
>>> F.triplet_margin_loss(anchor, positive, negative, margin=2.0).item()
0.26795)")
    .input("input", kFloating)
    .input("positive", kFloating)
    .input("negative", kFloating)
    .output("loss")
    .infer(triplet_infer)
    .compose(triplet_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

struct NpairAttrs {
  double l2_reg = 0.002;
};
ARGOSY_ATTRS(NpairAttrs, l2_reg)

void npair_infer(InferContext& c, const NpairAttrs&) {
  const char* names[] = {"anchor", "positive"};
  for (size_t i = 0; i < 2; ++i) {
    ARGOSY_CHECK(c.in[i].numel() != 0, invalid_argument)
        << "The dims of " << names[i] << " should be greater than 0 [npair_loss], got " << c.in[i]
        << ". Do this: leave empty batches out.";
    ARGOSY_CHECK(c.in[i].rank() == 2, invalid_argument)
        << "[npair_loss] " << names[i] << " must be [batch, features], got " << c.in[i]
        << ". Do this: flatten what is behind the batch.";
  }
  c.out[0].shape = {};
}

Tensors npair_parts(const Inputs& in, const NpairAttrs& a) {
  const Tensor &anchor = in[0], &positive = in[1];
  Tensor row = reshape(in[2], {1, -1}), column = reshape(in[2], {-1, 1});
  Tensor same = cast(equal(column, row), anchor.dtype());
  Tensor target = divide(same, sum(same, {1}, true));
  Tensor lengths = add(mean(sum(square(anchor), {1})), mean(sum(square(positive), {1})));
  Tensor log_probability = log_softmax(matmul(anchor, positive, false, true), -1);
  Tensor loss = negative(sum(multiply(target, log_probability), {1}, true));
  return add(scale(lengths, 0.25 * a.l2_reg), mean(sum(multiply(target, loss), {0})));
}

ARGOSY_OP(npair_loss, NpairAttrs)
    .python("nn.functional.npair_loss(anchor, positive, labels, l2_reg=0.002)")
    .doc(
        "Cross entropy of the similarities anchor positive' against equality of labels, plus "
        "l2_reg / 4 times the mean squared lengths.")
    .shape("anchor [n,d], positive [n,d], labels [n] -> []")
    .example(R"(>>> F = argosy.nn.functional
>>> x, y = argosy.to_tensor([[1.0, 0.0], [0.0, 1.0]]), argosy.to_tensor([[1.0, 0.0], [0.0, 1.0]])
>>> F.npair_loss(x, y, argosy.to_tensor([0.0, 1.0])).item()
0.31426)")
    .paper("Sohn, NIPS 2016")
    .input("anchor", kFloating)
    .input("positive", kFloating)
    .input("labels", kReal)
    .output("loss")
    .infer(npair_infer)
    .compose(npair_parts)
    .done();

struct DiceAttrs {
  double epsilon = 1e-5;
};
ARGOSY_ATTRS(DiceAttrs, epsilon)

void dice_infer(InferContext& c, const DiceAttrs&) {
  const Tensor &x = c.in[0], &label = c.in[1];
  bool fits = x.rank() >= 2 && x.rank() == label.rank() &&
              (label.dim(-1) == 1 || label.dim(-1) == kUnknown);
  for (int i = 0; fits && i < x.rank() - 1; ++i)
    fits = x.dim(i) == label.dim(i) || x.dim(i) < 0 || label.dim(i) < 0;
  ARGOSY_CHECK(fits, invalid_argument)
      << "[dice_loss] input must be [N, .., C] with at least 2 dimensions and label of that shape "
         "with size 1 at the end: input is "
      << x << ", label is " << label << ". Do this: unsqueeze the label's last axis.";
  c.out[0].shape = {};
}

Tensors dice_parts(const Inputs& in, const DiceAttrs& a) {
  const Tensor& x = in[0];
  Tensor label = class_numbers("dice_loss", in[1]);
  Tensor target = spread_class(x, label, full_like(label, 1, x.dtype()), -1, -1);
  op::IntArray axes;
  for (int i = 1; i < x.rank(); ++i) axes.values.push_back(i);
  Tensor both = sum(multiply(x, target), axes);
  Tensor each = scale(add(sum(x, axes), sum(target, axes)), 1, a.epsilon);
  return mean(scale(divide(both, each), -2, 1));
}

ARGOSY_OP(dice_loss, DiceAttrs)
    .python("nn.functional.dice_loss(input, label, epsilon=1e-05, name=None)")
    .doc("1 - 2 |input * one_hot(label)| / (|input| + |one_hot(label)| + epsilon), batch mean.")
    .shape("input [n,*s,c], label [n,*s,1] -> []")
    .example(R"(>>> F = argosy.nn.functional
>>> F.dice_loss(argosy.to_tensor([[0.2, 0.8]]), argosy.to_tensor([[1]])).item()
0.2)")
    .paper("1606.04797")
    .input("input", kFloating)
    .input("label", kIndex)
    .output("loss")
    .infer(dice_infer)
    .compose(dice_parts)
    .done();

// --- class numbers ---

struct MultiMarginAttrs {
  int64_t p = 1;
  double margin = 1;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(MultiMarginAttrs, p, margin, reduction)

void multi_margin_infer(InferContext& c, const MultiMarginAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1], &weight = c.in[2];
  ARGOSY_CHECK(x.rank() == 2, invalid_argument) << "[multi_margin_loss] input must be [N, C], got "
                                                << x << ". Do this: flatten or unsqueeze it.";
  ARGOSY_CHECK(label.rank() > 0 && (x.dim(0) == label.dim(0) || x.dim(0) < 0 || label.dim(0) < 0),
               invalid_argument)
      << "The label's shape[0] should be equal to input's shape[0] [multi_margin_loss]: input is "
      << x << ", label is " << label << '.';
  ARGOSY_CHECK(
      !weight.defined() || x.dim(1) < 0 || weight.numel() < 0 || weight.numel() == x.dim(1),
      invalid_argument)
      << "The weight's shape[0] should be equal to input's shape[1] [multi_margin_loss]: input is "
      << x << ", weight is " << weight << ". Do this: pass one weight for each class.";
  infer_reduced(c, {x.dim(0)}, a.reduction);
}

Tensors multi_margin_parts(const Inputs& in, const MultiMarginAttrs& a) {
  const Tensor& x = in[0];
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // no label is ignored
  Tensor label = reshape(class_numbers("multi_margin_loss", in[1]), {-1, 1});
  Tensor missing = relu(scale(subtract(x, select_class(x, label, 1, kNone, 0)), 1, a.margin));
  Tensor powered = a.p == 1 ? missing : pow(missing, static_cast<double>(a.p));
  // The label's own place gives margin^p, which does not count.
  ARGOSY_CHECK(x.dim(1) != 0, invalid_argument)
      << "[multi_margin_loss] there must be at least one class, input is " << x << '.';
  const double own = std::pow(std::max(a.margin, 0.0), static_cast<double>(a.p));
  Tensor share = scale(reciprocal(size_of(x, 1, x.dtype())), own);
  Tensor loss = subtract(mean(powered, {1}, true), share);
  if (in[2].defined())
    loss = multiply(loss, class_weights(in[2], label, kNone, x.dim(1), x.dtype()));
  return reduced(squeeze(loss, op::IntArray{1}), a.reduction);
}

ARGOSY_OP(multi_margin_loss, MultiMarginAttrs)
    .python(
        "nn.functional.multi_margin_loss(input, label, p=1, margin=1.0, weight=None, "
        "reduction='mean', name=None)")
    .doc(
        "For each row the sum over the other classes of max(0, margin - input[label] + input)^p, "
        "over the number of classes, times weight[label].")
    .shape("input [n,c], label [n], weight [c] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.multi_margin_loss(argosy.to_tensor([[0.1, 0.2, 0.7]]), argosy.to_tensor([2])).item()
0.3)")
    .input("input", kFloating)
    .input("label", kIndex)
    .optional_input("weight", kFloating)
    .output("loss")
    .infer(multi_margin_infer)
    .compose(multi_margin_parts)
    .done();

// --- several labels for each row ---

struct LossAttrs {
  std::string reduction = "mean";
};
ARGOSY_ATTRS(LossAttrs, reduction)

// Of each row the labels up to the first -1.
int64_t labels_of_row(const Tensor& label, int64_t row) {
  const int64_t* from = label.data<int64_t>() + row * label.dim(1);
  int64_t n = 0;
  while (n < label.dim(1) && from[n] != -1) ++n;
  return n;
}

// loss[n] = sum over labels t and classes k that are no label: max(0, 1 - x[t] + x[k]) / C, or its
// gradient.
template <class T>
void multi_label_margin(const Tensor& x, const Tensor& label, const T* dloss, T* out) {
  const int64_t classes = x.dim(1);
  std::vector<char> is_label(static_cast<size_t>(classes));
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const T* from = x.data<T>() + row * classes;
    const int64_t* t = label.data<int64_t>() + row * label.dim(1);
    const int64_t n = labels_of_row(label, row);
    std::fill(is_label.begin(), is_label.end(), 0);
    for (int64_t i = 0; i < n; ++i) is_label[static_cast<size_t>(t[i])] = 1;
    double total = 0;
    const double step = dloss ? static_cast<double>(dloss[row]) / static_cast<double>(classes) : 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < classes; ++k) {
        const double missing = 1 - static_cast<double>(from[t[i]]) + static_cast<double>(from[k]);
        if (is_label[static_cast<size_t>(k)] || missing <= 0) continue;
        total += missing;
        if (!dloss) continue;
        out[row * classes + k] = T(static_cast<double>(out[row * classes + k]) + step);
        out[row * classes + t[i]] = T(static_cast<double>(out[row * classes + t[i]]) - step);
      }
    if (!dloss) out[row] = T(total / static_cast<double>(classes));
  }
}

void rows_infer(InferContext& c, const NoAttrs&) {
  expect_rank(c, 0, 2, 2);
  expect_shape(c, 1, c.in[0].shape());
  c.out[0].shape = {c.in[0].dim(0)};
}
void check_classes(const Tensor& x, const Tensor& label) {
  for (int64_t i = 0; i < label.numel(); ++i) {
    const int64_t v = label.data<int64_t>()[i];
    ARGOSY_CHECK(v >= -1, invalid_argument)
        << "label values should be >= -1 [multi_label_margin_loss], got " << v << '.';
    ARGOSY_CHECK(v < x.dim(1), invalid_argument) << "label values should be < " << x.dim(1)
                                                 << " [multi_label_margin_loss], got " << v << '.';
  }
}
void rows_run(op::KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &label = f.in[1];
  check_classes(x, label);
  dispatch_types<float, double>(
      x.dtype(), [&]<class T>(T) { multi_label_margin<T>(x, label, nullptr, f.out[0].data<T>()); });
}
void rows_grad_infer(InferContext& c, const NoAttrs&) {
  expect_rank(c, 0, 2, 2);
  expect_shape(c, 1, c.in[0].shape());
  expect_size(c, 2, c.in[0].dim(0));
  expect_dtype(c, 2, c.in[0].dtype());
}
void rows_grad_run(op::KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  check_classes(x, f.in[1]);
  dispatch_types<float, double>(x.dtype(), [&]<class T>(T) {
    std::fill_n(f.out[0].data<T>(), x.numel(), T(0));
    multi_label_margin<T>(x, f.in[1], f.in[2].data<T>(), f.out[0].data<T>());
  });
}
Tensors rows_grad(const op::GradCall& c, const NoAttrs&);

ARGOSY_OP(multi_label_margin_rows, NoAttrs)
    .doc("multi_label_margin_loss of each row.")
    .input("x", only(DType::float32) | only(DType::float64), op::Save::value)
    .input("label", only(DType::int64), op::Save::value)
    .output("loss")
    .infer(rows_infer)
    .kernel("loop", rows_run)
    .gradient(rows_grad)
    .done();

Tensors rows_grad_second(const op::GradCall& c, const NoAttrs&);

// Piecewise linear: the gradient is constant in x, and linear in dloss.
ARGOSY_OP(multi_label_margin_rows_grad, NoAttrs)
    .doc("Gradient of multi_label_margin_rows.")
    .input("x", kFloating, op::Save::value)
    .input("label", only(DType::int64), op::Save::value)
    .input("dloss", kFloating, op::Save::shape)
    .output("dx")
    .infer(rows_grad_infer)
    .kernel("loop", rows_grad_run)
    .gradient(rows_grad_second)
    .done();

Tensors rows_grad_second(const op::GradCall& c, const NoAttrs&) {
  Tensor slope = multi_label_margin_rows_grad_op(c.in[0], c.in[1], ones_like(c.in[2]));
  return {Tensor(), Tensor(), sum(multiply(c.dy(), slope), {1})};
}

Tensors rows_grad(const op::GradCall& c, const NoAttrs&) {
  return {multi_label_margin_rows_grad_op(c.in[0], c.in[1], c.dy()), Tensor()};
}

void multi_label_margin_infer(InferContext& c, const LossAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1];
  ARGOSY_CHECK(x.rank() == 2, invalid_argument)
      << "Expected 2D input tensor, but got " << x.rank() << "D [multi_label_margin_loss].";
  ARGOSY_CHECK(label.rank() == 2, invalid_argument)
      << "Expected 2D label tensor, but got " << label.rank()
      << "D [multi_label_margin_loss]. Do this: pad the labels with -1 to the shape of input.";
  infer_reduced(c, {x.dim(0)}, a.reduction);
}
Tensors multi_label_margin_parts(const Inputs& in, const LossAttrs& a) {
  Tensor x = kHalf.has(in[0].dtype()) ? cast(in[0], DType::float32) : in[0];
  Tensor rows = multi_label_margin_rows_op(x, cast(in[1], DType::int64));
  return reduced(cast(rows, in[0].dtype()), a.reduction);
}

ARGOSY_OP(multi_label_margin_loss, LossAttrs)
    .python("nn.functional.multi_label_margin_loss(input, label, reduction='mean', name=None)")
    .doc(
        "For each row the sum over its labels t (those before the first -1) and the classes k that "
        "are none of them of max(0, 1 - input[t] + input[k]), over the number of classes.")
    .shape("input [n,c], label [n,c] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.multi_label_margin_loss(argosy.to_tensor([[0.1, 0.2, 0.4]]), argosy.to_tensor([[2, 0, -1]])).item()
0.63333)")
    .input("input", kFloating)
    .input("label", kIndex)
    .output("loss")
    .infer(multi_label_margin_infer)
    .compose(multi_label_margin_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
