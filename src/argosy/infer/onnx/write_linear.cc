#include <cmath>
#include <numbers>

#include "argosy/infer/onnx/emit.h"

// Matrices, windows as columns, shrinking functions, what labels select, sums at places.
namespace argosy::infer::onnx {
namespace {

int from_start(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// --- matrices ---

void eye(Emit& e) {
  const Shape& shape = e.result().shape;
  const Tensor made = Tensor::empty(shape, DType::float32);
  for (int64_t i = 0; i < made.numel(); ++i)
    made.data<float>()[i] = i / shape[1] == i % shape[1] ? 1.0f : 0.0f;
  e.give(e.to.cast(e.to.constant(made), e.result().dtype));
}

// The vectors turned by one place and by two, times each other.
void cross(Emit& e) {
  int axis = 0;
  if (e.integer("axis") == 9) {
    while (axis < e.rank() && e.shape()[axis] != 3) ++axis;
  } else {
    axis = from_start(e.integer("axis"), e.rank());
  }
  const std::string once = e.to.integers({1, 2, 0}), twice = e.to.integers({2, 0, 1});
  auto turned = [&](size_t i, const std::string& by) {
    return e.node("Gather", {e.in(i), by}, {{"axis", axis}});
  };
  e.give(e.node("Sub", {e.node("Mul", {turned(0, once), turned(1, twice)}),
                        e.node("Mul", {turned(0, twice), turned(1, once)})}));
}

// The matrices' axes last, then as one: the diagonal is some of its places.
void diagonal(Emit& e) {
  const int rank = e.rank();
  const int rows = from_start(e.integer("axis1"), rank),
            columns = from_start(e.integer("axis2"), rank);
  const int64_t n = e.shape()[rows], m = e.shape()[columns], offset = e.integer("offset");
  if (n < 0 || m < 0) e.unsupported("a matrix whose size only a run knows");
  std::vector<int64_t> order, form, places;
  for (int d = 0; d < rank; ++d)
    if (d != rows && d != columns) {
      order.push_back(d);
      form.push_back(0);  // as it is
    }
  order.push_back(rows);
  order.push_back(columns);
  form.push_back(n * m);
  for (int64_t i = std::max<int64_t>(-offset, 0); i < n && i + offset < m; ++i)
    places.push_back(i * m + i + offset);
  const std::string flat =
      e.reshape(e.transposed(e.in(0), order), e.to.integers(std::span<const int64_t>(form)));
  e.give(e.node("Gather", {flat, e.to.integers(std::span<const int64_t>(places))},
                {{"axis", rank - 2}}));
}

// --- angles and shrinking ---

void angle_of_point(Emit& e) {
  const DType of = e.result().dtype;
  const std::string y = e.to.cast(e.in(0), of), x = e.to.cast(e.in(1), of);
  const std::string zero = e.to.number(0, of), half = e.to.number(std::numbers::pi / 2, of);
  // -0 is below the axis, too.
  const std::string below =
      e.node("Or", {e.node("Less", {y, zero}), e.node("Less", {e.node("Reciprocal", {y}), zero})});
  const std::string turn = e.node(
      "Where", {below, e.to.number(-std::numbers::pi, of), e.to.number(std::numbers::pi, of)});
  const std::string added = e.node("Where", {e.node("Less", {x, zero}), turn, zero});
  const std::string slope = e.node("Add", {e.node("Atan", {e.node("Div", {y, x})}), added});
  const std::string upright = e.node("Mul", {e.node("Sign", {y}), half});
  e.give(e.node("Where", {e.node("Equal", {x, zero}), upright, slope}));
}
void hard_shrink(Emit& e) {
  e.give(e.node("Shrink", {e.in(0)}, {{"bias", 0.0}, {"lambd", e.real("threshold")}}));
}
void soft_shrink(Emit& e) {
  e.give(
      e.node("Shrink", {e.in(0)}, {{"bias", e.real("threshold")}, {"lambd", e.real("threshold")}}));
}
void tanh_shrink(Emit& e) {
  e.give(e.node("Sub", {e.in(0), e.node("Tanh", {e.in(0)})}));
}
std::string above(Emit& e) {
  return e.node("Greater", {e.in(0), e.number(e.real("threshold"))});
}
void thresholded_relu(Emit& e) {
  e.give(e.node("Where", {above(e), e.in(0), e.number(e.real("value"))}));
}
void thresholded_relu_slope(Emit& e) {
  e.give(e.node("Where", {above(e), e.in(1), e.number(0, 1)}));
}

// --- windows ---

// A convolution that has a channel for each place of a window, where it has a 1.
void unfold(Emit& e) {
  const std::vector<int64_t>& kernel = e.integers("kernel");
  const int64_t channels = e.shape()[1], places = kernel[0] * kernel[1];
  if (channels < 0) e.unsupported("channels that only a run knows");
  const Tensor picks =
      Tensor::empty(Shape({channels * places, 1, kernel[0], kernel[1]}), DType::float32);
  for (int64_t i = 0; i < picks.numel(); ++i)
    picks.data<float>()[i] = i / places % places == i % places ? 1.0f : 0.0f;
  const std::string weight = e.to.cast(e.to.constant(picks), e.dtype());
  const std::string windows = e.node("Conv", {e.in(0), weight},
                                     {{"kernel_shape", kernel},
                                      {"strides", e.integers("stride")},
                                      {"pads", e.integers("padding")},
                                      {"dilations", e.integers("dilation")},
                                      {"group", channels}});
  e.give(e.reshape(windows, e.to.integers({0, 0, -1})));
}

// --- labels ---

// Where a label is one, and the labels with 0 where they are none.
struct Labels {
  std::string none, places;
};
Labels labels_of(Emit& e) {
  const std::string label = e.in(1);
  const auto ignored = static_cast<double>(e.integer("ignore_index"));
  const std::string none = e.node("Equal", {label, e.number(ignored, 1)});
  return {none, e.node("Where", {none, e.number(0, 1), label})};
}
std::string chosen(Emit& e, const std::string& x, const Labels& labels, const std::string& fill) {
  const std::string at =
      e.node("GatherElements", {x, labels.places}, {{"axis", e.integer("axis")}});
  return e.node("Where", {labels.none, fill, at});
}
// The weight of each label's class (1 without weights), 0 where there is none.
std::string weights(Emit& e, size_t i, const Labels& labels, DType of) {
  const std::string each =
      e.has(i) ? e.node("Gather", {e.to.cast(e.in(i), of), labels.places}, {{"axis", 0}})
               : e.to.number(1, of);
  return e.node("Where", {labels.none, e.to.number(0, of), each});
}
void select_class(Emit& e) {
  e.give(chosen(e, e.in(0), labels_of(e), e.number(e.real("fill"))));
}
void class_weights(Emit& e) {
  e.give(weights(e, 0, labels_of(e), e.result().dtype));
}
void cross_entropy_of_labels(Emit& e) {
  const Labels labels = labels_of(e);
  const DType of = e.result().dtype;
  const std::string x = e.dtype() == of ? e.in(0) : e.to.cast(e.in(0), of);
  const std::string logs = e.node("LogSoftmax", {x}, {{"axis", e.integer("axis")}});
  const std::string loss = e.node("Neg", {chosen(e, logs, labels, e.to.number(0, of))});
  e.give(e.has(2) ? e.node("Mul", {loss, weights(e, 2, labels, of)}) : loss);
}

// --- sums at places ---

void add_slices(Emit& e) {
  const int axis = from_start(e.integer("axis"), e.rank());
  const DType of = e.dtype();
  if (of == DType::bool_) e.unsupported("sums of truth values");
  // Of the shape that the places have in x.
  const std::string index = e.in(1), old = e.node("Gather", {e.in(0), index}, {{"axis", axis}});
  const std::string value = e.node("Expand", {e.to.cast(e.in(2), of), e.node("Shape", {old})});
  std::vector<int64_t> first{axis};
  for (int d = 0; d < e.rank(); ++d)
    if (d != axis) first.push_back(d);
  std::vector<int64_t> back(first.size());
  for (size_t d = 0; d < first.size(); ++d)
    back[static_cast<size_t>(first[d])] = static_cast<int64_t>(d);
  auto moved = [&](const std::string& x, const std::vector<int64_t>& to) {
    return axis == 0 ? x : e.transposed(x, to);
  };
  const std::string sum =
      e.node("ScatterND",
             {moved(e.in(0), first), e.unsqueeze(e.to.cast(index, DType::int64), {-1}),
              moved(value, first)},
             {{"reduction", "add"}});
  e.give(moved(sum, back));
}
void equal_all(Emit& e) {
  if (!(e.shape(0) == e.shape(1)) || e.shape(0).numel() < 0)
    e.unsupported("tensors whose shapes only a run compares");
  const std::string same = e.to.cast(e.node("Equal", {e.in(0), e.in(1)}), DType::int32);
  std::vector<int64_t> axes;
  for (int d = 0; d < e.rank(); ++d) axes.push_back(d);
  e.give(e.to.cast(axes.empty() ? same : e.reduce("ReduceMin", same, axes, false), DType::bool_));
}

constexpr WriteRow kRows[] = {
    {"add_slices", add_slices},
    {"atan2", angle_of_point},
    {"class_weights", class_weights},
    {"cross", cross},
    {"det", same_node<"Det">},
    {"diagonal", diagonal},
    {"equal_all", equal_all},
    {"eye", eye},
    {"hard_cross_entropy", cross_entropy_of_labels},
    {"hardshrink", hard_shrink},
    {"select_class", select_class},
    {"softshrink", soft_shrink},
    {"tanhshrink", tanh_shrink},
    {"thresholded_relu", thresholded_relu},
    {"thresholded_relu_grad", thresholded_relu_slope},
    {"unfold", unfold},
};

}  // namespace

std::span<const WriteRow> write_linear_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
