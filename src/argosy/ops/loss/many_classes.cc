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
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

// Losses for many classes: trees, clusters, margins.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

// --- hierarchical sigmoid ---

int64_t depth_of(int64_t classes) {
  int64_t depth = 0;
  while ((classes - 1) >> depth) ++depth;
  return depth;
}

void path_infer(InferContext& c, const HsigmoidPathAttrs& a) {
  ARGOSY_CHECK(a.num_classes >= 1, invalid_argument)
      << '[' << c.name() << "] num_classes must be at least 1, got " << a.num_classes << '.';
  Shape shape{c.in[0].numel(), depth_of(a.num_classes)};
  for (op::Meta& m : c.out) m = {shape, DType::int64};
}
// Class c is the leaf c + num_classes of a heap; bit b of that number is the turn below node
// (number >> (b + 1)) - 1. Missing levels are -1.
void path_run(KernelFrame& f, const HsigmoidPathAttrs& a) {
  Tensor label = as_dtype(f.in[0], DType::int64);
  const int64_t depth = depth_of(a.num_classes);
  for (int64_t i = 0; i < label.numel(); ++i) {
    const int64_t c = label.data<int64_t>()[i];
    ARGOSY_CHECK(0 <= c && c < a.num_classes, invalid_argument)
        << "[hsigmoid_loss] label " << c << " is out of range: there are " << a.num_classes
        << " classes. Do this: check num_classes, or the labels.";
    for (int64_t b = 0; b < depth; ++b) {
      const int64_t node = ((c + a.num_classes) >> (b + 1)) - 1;
      f.out[0].data<int64_t>()[i * depth + b] = node;
      f.out[1].data<int64_t>()[i * depth + b] = node < 0 ? -1 : (c + a.num_classes) >> b & 1;
    }
  }
}
ARGOSY_OP(hsigmoid_path, HsigmoidPathAttrs)
    .doc("(nodes, turns) on the way to each label in the complete tree; -1 where a path has ended.")
    .input("label", kIntegral)
    .index_output("table")
    .index_output("code")
    .infer(path_infer)
    .kernel("loop", path_run)
    .done();

struct HsigmoidAttrs {
  int64_t num_classes = 2;
  bool is_sparse = false;
};
ARGOSY_ATTRS(HsigmoidAttrs, num_classes, is_sparse)

void hsigmoid_infer(InferContext& c, const HsigmoidAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1], &weight = c.in[2];
  ARGOSY_CHECK(a.num_classes >= 2, invalid_argument)
      << "Expected num_classes >= 2 (got " << a.num_classes << ") [hsigmoid_loss].";
  ARGOSY_CHECK(x.rank() == 2 && weight.rank() == 2, invalid_argument)
      << "[hsigmoid_loss] expected input [N, features] and weight [nodes, features], got input "
      << x << ", weight " << weight << '.';
  ARGOSY_CHECK(label.numel() < 0 || x.dim(0) < 0 || label.numel() == x.dim(0), invalid_argument)
      << "[hsigmoid_loss] label must have one class for each row of input: input is " << x
      << ", label is " << label << ". Do this: reshape the label to [N, 1].";
  ARGOSY_CHECK(c.in[4].defined() == c.in[5].defined(), invalid_argument)
      << "[hsigmoid_loss] path_table and path_code must be given together. Do this: pass both for "
         "a tree of your own, or neither.";
  c.out[0].shape = {x.dim(0), 1};
}

Tensors hsigmoid_parts(const Inputs& in, const HsigmoidAttrs& a) {
  const Tensor &x = in[0], &weight = in[2], &bias = in[3];
  Tensor table, code;
  if (in[4].defined()) {
    table = cast(in[4], DType::int64);
    code = in[5];
  } else {
    Tensors path = hsigmoid_path_op.all({in[1]}, {a.num_classes});
    table = path[0];
    code = path[1];
  }
  Tensor real = cast(greater_equal(table, full_like(table, 0)), x.dtype());
  Tensor node = maximum(table, full_like(table, 0));
  auto rows = [&](const Tensor& t) { return embedding(node, t, -1, a.is_sparse); };
  // [N, depth]
  Tensor score = squeeze(matmul(rows(weight), unsqueeze(x, {-1})), op::IntArray{-1});
  if (bias.defined()) {
    const bool column = bias.rank() == 2 && (bias.dim(1) == 1 || bias.dim(1) < 0);
    score = add(score, squeeze(rows(column ? bias : reshape(bias, {-1, 1})), op::IntArray{-1}));
  }
  // A path that has ended goes on with scores of 0, so that each level gives log(2).
  score = multiply(clip(score, -40, 40), real);
  Tensor turn = multiply(cast(code, x.dtype()), real);
  return sum(subtract(softplus(score, 1, 50), multiply(turn, score)), {1}, true);
}

ARGOSY_OP(hsigmoid_loss, HsigmoidAttrs)
    .doc(
        "Hierarchical sigmoid [N, 1]: the sum over the inner nodes on the way to the label of the "
        "binary cross entropy of weight[node] . input + bias[node] against the turn taken there. "
        "The tree is complete, or given by path_table and path_code [N, depth], padded with -1.")
    .shape(
        "input [n,d], label [*l], weight [k,d], bias [*q], path_table [n,p], path_code [n,p] -> "
        "[n,1]")
    .paper("Morin and Bengio, AISTATS 2005")
    .input("input", kFloating)
    .input("label", kIntegral)
    .input("weight", kFloating)
    .optional_input("bias", kFloating)
    .optional_input("path_table", kIntegral)
    .optional_input("path_code", kIntegral)
    .output("out")
    .infer(hsigmoid_infer)
    .compose(hsigmoid_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- angular margins ---

struct MarginAttrs {
  double margin1 = 1, margin2 = 0.5, margin3 = 0, scale = 64;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(MarginAttrs, margin1, margin2, margin3, scale, reduction)

void margin_infer(InferContext& c, const MarginAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << "[margin_cross_entropy] logits must be [N, classes], got " << x << '.';
  ARGOSY_CHECK(label.rank() == x.rank() || label.rank() == x.rank() - 1, invalid_argument)
      << "Expected input_dims - 1 = label_dims or input_dims == label_dims "
         "[margin_cross_entropy]: logits is "
      << x << ", label is " << label << ". Do this: pass class numbers [N] or [N, 1].";
  Shape shape = x.shape();
  shape[shape.rank() - 1] = 1;
  infer_reduced(c, shape, a.reduction);
}

Tensors margin_parts(const Inputs& in, const MarginAttrs& a) {
  static const op::OpDef& arc_cosine = op::get("acos");
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // no label is ignored
  const Tensor& x = in[0];
  Tensor label = class_numbers("margin_cross_entropy", in[1]);
  if (label.rank() < x.rank()) label = unsqueeze(label, {-1});
  Tensor target = select_class(x, label, -1, kNone, 0);
  NoAttrs none;
  Tensor angle = std::move(op::dispatch(arc_cosine, Inputs({&target, 1}), &none)[0]);
  Tensor moved = scale(cos(scale(angle, a.margin1, a.margin2)), 1, -a.margin3);
  Tensor change = spread_class(x, label, subtract(moved, target), -1, kNone);
  Tensor scores = scale(add(x, change), a.scale);
  Tensors out;
  out.push_back(reduced(hard_cross_entropy(scores, label, Tensor(), -1, kNone), a.reduction));
  out.push_back(softmax(scores, -1));
  return out;
}

ARGOSY_OP(margin_cross_entropy, MarginAttrs)
    .doc(
        "(loss, softmax) of scale * logits, where the label's cosine cos(t) is replaced by "
        "cos(margin1 * t + margin2) - margin3.")
    .shape("logits [n,c], label [n] -> [*s'], [n,c] | logits [n,c], label [n,1] -> [*s'], [n,c]")
    .paper("1801.07698")
    .input("logits", kFloating)
    .input("label", kIndex)
    .output("loss")
    .output("softmax")
    .infer(margin_infer)
    .compose(margin_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- adaptive softmax ---

void cluster_infer(InferContext& c, const CutoffAttrs& a) {
  ARGOSY_CHECK(!a.cutoffs.empty(), invalid_argument)
      << '[' << c.name() << "] there must be a cutoff, the number of classes. Do this: pass it.";
  c.out[0] = {{c.in[0].numel(), static_cast<int64_t>(a.cutoffs.size())}, DType::int64};
}
// Column 0: the label's place in the head; column i: its place in cluster i, or -1.
void cluster_run(KernelFrame& f, const CutoffAttrs& a) {
  Tensor label = as_dtype(f.in[0], DType::int64);
  const int64_t columns = static_cast<int64_t>(a.cutoffs.size());
  for (int64_t i = 0; i < label.numel(); ++i) {
    const int64_t v = label.data<int64_t>()[i];
    int64_t* row = f.out[0].data<int64_t>() + i * columns;
    ARGOSY_CHECK(0 <= v && v < a.cutoffs.back(), invalid_argument)
        << "label values should be in [0, n_classes - 1] [adaptive_log_softmax_with_loss], got "
        << v << " with " << a.cutoffs.back()
        << " classes. Do this: check n_classes, or the labels.";
    row[0] = v;
    for (int64_t k = 1; k < columns; ++k) {
      const int64_t low = a.cutoffs[static_cast<size_t>(k - 1)];
      const bool inside = low <= v && v < a.cutoffs[static_cast<size_t>(k)];
      row[k] = inside ? v - low : -1;
      if (inside) row[0] = a.cutoffs[0] + k - 1;
    }
  }
}
ARGOSY_OP(cluster_labels, CutoffAttrs)
    .doc("For each label its place in the head and in each cluster, -1 where it is not.")
    .input("label", kIntegral)
    .index_output("out")
    .infer(cluster_infer)
    .kernel("loop", cluster_run)
    .done();

Tensor cluster_scores(const Tensor& x, std::span<const Tensor> tails, size_t i) {
  return log_softmax(matmul(matmul(x, tails[2 * i]), tails[2 * i + 1]), -1);
}

void check_tails(const char* op, std::span<const Tensor> tails, const CutoffAttrs& a) {
  ARGOSY_CHECK(!a.cutoffs.empty() && tails.size() >= 2 * (a.cutoffs.size() - 1), invalid_argument)
      << '[' << op
      << "] there must be a pair of tail weights for each cutoff but the last: " << a.cutoffs.size()
      << " cutoffs, " << tails.size() << " weights.";
}

void adaptive_infer(InferContext& c, const CutoffAttrs& a) {
  const Tensor &x = c.in[0], &label = c.in[1];
  check_tails(c.name(), c.in.list(4), a);
  ARGOSY_CHECK(label.rank() <= 1, invalid_argument)
      << "0D or 1D label tensor expected, multi-label not supported "
         "[adaptive_log_softmax_with_loss], got "
      << label << '.';
  ARGOSY_CHECK(x.rank() == label.rank() + 1, invalid_argument)
      << label.rank() << "D label tensor expects " << label.rank() + 1
      << "D input tensors, but found inputs with size " << x.shape()
      << " [adaptive_log_softmax_with_loss].";
  ARGOSY_CHECK(label.rank() == 0 || x.dim(0) == label.dim(0) || x.dim(0) < 0 || label.dim(0) < 0,
               invalid_argument)
      << "Input and label should have the same size in the batch dimension "
         "[adaptive_log_softmax_with_loss]: input is "
      << x << ", label is " << label << '.';
  c.out[0].shape = label.shape();
  c.out[1].shape = {};
}

Tensors adaptive_parts(const Inputs& in, const CutoffAttrs& a) {
  const bool single = in[1].rank() == 0;
  Tensor x = single ? unsqueeze(in[0], {0}) : in[0];
  Tensor places = cluster_labels_op(reshape(in[1], {-1}), a);
  auto tails = in.list(4);
  Tensor head = log_softmax(linear(x, in[2], in[3]), -1);
  Tensor out = select_class(head, slice(places, 1, 0, 1), -1, -1, 0);
  for (size_t i = 0; i + 1 < a.cutoffs.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) + 1;
    out = add(out, select_class(cluster_scores(x, tails, i), slice(places, 1, column, column + 1),
                                -1, -1, 0));
  }
  Tensors results;
  results.push_back(single ? reshape(out, op::IntArray{}) : squeeze(out, op::IntArray{1}));
  results.push_back(negative(mean(out)));
  return results;
}

ARGOSY_OP(adaptive_log_softmax_with_loss, CutoffAttrs)
    .doc(
        "(log probability of each label, its negative mean): frequent classes are in the head, the "
        "others in clusters with a place in the head each. tail_weights: two matrices per cluster.")
    .paper("1609.04309")
    .input("input", kFloating)
    .input("label", kIntegral)
    .input("head_weight", kFloating)
    .optional_input("head_bias", kFloating)
    .list_input("tail_weights", kFloating)
    .output("output")
    .output("loss")
    .infer(adaptive_infer)
    .compose(adaptive_parts)
    .done();

void adaptive_prob_infer(InferContext& c, const CutoffAttrs& a) {
  check_tails(c.name(), c.in.list(3), a);
  c.out[0].shape = {c.in[0].dim(0), a.cutoffs.back()};
}
Tensors adaptive_prob_parts(const Inputs& in, const CutoffAttrs& a) {
  auto tails = in.list(3);
  const int64_t frequent = a.cutoffs[0];
  Tensor head = log_softmax(linear(in[0], in[1], in[2]), -1);
  InlineVector<Tensor, 4> parts{slice(head, 1, 0, frequent)};
  for (size_t i = 0; i + 1 < a.cutoffs.size(); ++i) {
    const int64_t place = frequent + static_cast<int64_t>(i);
    parts.push_back(add(cluster_scores(in[0], tails, i), slice(head, 1, place, place + 1)));
  }
  return concat(parts, 1);
}

ARGOSY_OP(adaptive_log_prob, CutoffAttrs)
    .doc("Log probabilities [N, classes] of an adaptive softmax.")
    .paper("1609.04309")
    .input("input", kFloating)
    .input("head_weight", kFloating)
    .optional_input("head_bias", kFloating)
    .list_input("tail_weights", kFloating)
    .output("out")
    .infer(adaptive_prob_infer)
    .compose(adaptive_prob_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
