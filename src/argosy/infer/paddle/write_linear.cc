#include <algorithm>
#include <cmath>

#include "argosy/infer/paddle/emit.h"

// Matrices, Fourier transforms, orders and counts, and what labels select. Those that are Paddle's
// on the same inputs are lines of write_math.cc.
namespace argosy::infer::paddle {
namespace {

int from_start(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// --- matrices ---

void eye(Emit& e) {
  const DType of = e.result().dtype;
  const Shape& shape = e.result().shape;
  auto count = [&](int d) { return e.to.full(op::Scalar(shape[d]), DType::float32, Shape({1})); };
  e.give("eye", {count(0), count(1)}, {dtype("dtype", of), place("place", true)});
}
void qr(Emit& e) {
  e.give("qr", {e.in(0)}, {text("mode", e.flag("complete") ? "complete" : "reduced")});
}
void lu(Emit& e) {
  e.give("lu", {e.in(0)}, {boolean("pivot", true)});
}
void lu_permutation(Emit& e) {
  const Written matrix = e.in(1);
  const Written part{0, matrix.dtype, matrix.shape};
  const std::vector<Written> all =
      e.to.nodes("lu_unpack", {matrix, e.in(0)},
                 {boolean("unpack_ludata", true), boolean("unpack_pivots", true)},
                 {{0, matrix.dtype, e.result().shape}, part, part});
  e.give(e.to.cast(all[0], e.result().dtype));
}
void least_squares(Emit& e) {
  const Written rcond = e.to.number(e.real("rcond"), DType::float32);
  const auto made = [&](size_t i) { return Written{0, e.result(i).dtype, e.result(i).shape}; };
  const std::vector<Written> all =
      e.to.nodes("lstsq", {e.in(0), e.in(1), rcond}, {text("driver", e.text("driver"))},
                 {made(0), {0, e.dtype(), Shape({0})}, made(1), made(2)});
  e.give(all[0], 0);
  e.give(all[2], 1);
  e.give(all[3], 2);
}

// --- Fourier transforms ---

// Paddle has three factors, by which it divides one way or both.
void fourier(Emit& e) {
  const bool forward = e.flag("forward");
  const std::vector<int64_t>& axes = e.integers("axes");
  double n = 1, rest = e.real("scale");
  for (const int64_t a : axes) n *= static_cast<double>(e.shape()[from_start(a, e.rank())]);
  const char* factor = forward ? "backward" : "forward";  // 1
  const auto is_factor = [&](double f) { return n > 0 && std::abs(rest * f - 1) < 1e-12; };
  if (rest != 1 && is_factor(n)) {
    factor = forward ? "forward" : "backward";
    rest = 1;
  } else if (rest != 1 && is_factor(std::sqrt(n))) {
    factor = "ortho";
    rest = 1;
  }
  const Written y = e.like_result(
      "fft_c2c", {e.in(0)},
      {i64s("axes", axes), text("normalization", factor), boolean("forward", forward)});
  e.give(rest == 1 ? y : e.to.scale(y, rest));
}

// --- orders and counts ---

// x and the axis of an op that works on a vector of all elements where it has none.
std::pair<Written, int64_t> along(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  if (axis) return {e.in(0), *axis};
  return {e.to.reshape(e.in(0), std::vector<int64_t>{-1}, e.result().shape), 0};
}
template <ForeignName op>
void running(Emit& e) {
  const auto [x, axis] = along(e);
  e.give(op, {x}, {i32("axis", axis), dtype("dtype", e.attr<DType>("dtype"))});
}
void running_logsumexp(Emit& e) {
  const auto [x, axis] = along(e);
  e.give("logcumsumexp", {e.to.cast(x, e.result().dtype)},
         {i32("axis", axis), boolean("flatten", false), boolean("exclusive", false),
          boolean("reverse", e.flag("reverse"))});
}
void bincount(Emit& e) {
  const Written least = e.to.full(op::Scalar(e.integer("minlength")), DType::int32, Shape({1}));
  e.give("bincount", {e.in(0), e.in(1), least});
}
void histogram(Emit& e) {
  e.give("histogram", {e.in(0), e.in(1)},
         {i64("bins", e.integer("bins")), f32("min", e.real("min")), f32("max", e.real("max")),
          boolean("density", e.flag("density"))});
}
void unique(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  const std::vector<int64_t> axes = axis ? std::vector<int64_t>{*axis} : std::vector<int64_t>();
  const DType of = e.attr<DType>("dtype");
  const Written values{0, e.dtype(), e.result().shape}, places{0, of, Shape({kUnknown})};
  std::vector<Written> made;
  if (e.flag("consecutive")) {
    made = e.to.nodes("unique_consecutive", {e.in(0)},
                      {boolean("return_inverse", true), boolean("return_counts", true),
                       i32s("axis", axes), dtype("dtype", of)},
                      {values, places, places});
    made.insert(made.begin() + 1, Written());  // places of the first, which nobody asks for
  } else {
    made = e.to.nodes("unique", {e.in(0)},
                      {boolean("return_index", true), boolean("return_inverse", true),
                       boolean("return_counts", true), i32s("axis", axes), dtype("dtype", of),
                       boolean("is_sorted", true)},
                      {values, places, places, places});
  }
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i].id) e.give(made[i], i);
}
void repeat(Emit& e) {
  const int axis = from_start(e.integer("axis"), e.rank());
  Written times = e.to.cast(e.in(1), DType::int64);
  const int64_t count = e.shape()[axis];
  if (times.shape.numel() == 1 && count != 1) {
    const Written one =
        times.shape.rank() == 1 ? times : e.to.reshape(times, std::vector<int64_t>{1}, Shape({1}));
    times = e.to.node("expand", {one, e.to.vector_of({e.to.size_of(e.in(0), axis)})}, {},
                      DType::int64, Shape({count}));
  }
  e.give("repeat_interleave_with_tensor_index", {e.in(0), times},
         {i32("axis", axis), i64("output_size", -1)});
}
void add_slices(Emit& e) {
  const int axis = from_start(e.integer("axis"), e.rank());
  const Written x = e.in(0), index = e.in(1);
  Written value = e.to.cast(e.in(2), e.dtype(0));
  Shape shape = x.shape;
  shape[axis] = index.shape.numel();
  if (!(value.shape == shape) || shape.numel() < 0) {  // Paddle wants a number for each
    std::vector<Written> sizes;
    for (int d = 0; d < shape.rank(); ++d)
      sizes.push_back(d == axis ? e.to.size_of(index, 0) : e.to.size_of(x, d));
    value = e.to.node("expand", {value, e.to.vector_of(sizes)}, {}, value.dtype, shape);
  }
  e.give("index_add", {x, index, value}, {i32("axis", axis)});
}
// As put_along, by other reductions.
void combine_along(Emit& e) {
  const Written values = e.to.cast(e.in(2), e.dtype(0)), index = e.in(1);
  const Written all =
      e.to.node("expand", {values, e.to.sizes_of(index)}, {}, values.dtype, index.shape);
  e.give("put_along_axis", {e.in(0), index, all},
         {i32("axis", e.integer("axis")), text("reduce", e.text("reduce")),
          boolean("include_self", e.flag("include_self"))});
}

// --- activations ---

void random_relu(Emit& e) {
  e.give("rrelu", {e.in(0)},
         {f32("lower", e.real("lower")), f32("upper", e.real("upper")),
          boolean("is_test", !e.flag("training"))});
}
void gumbel(Emit& e) {
  e.give(e.like_result("gumbel_softmax", {e.in(0)},
                       {f32("temperature", e.real("temperature")), boolean("hard", e.flag("hard")),
                        i32("axis", e.integer("axis"))}));
}
void thresholded_relu_slope(Emit& e) {
  const Written x = e.in(0);
  const Written above = e.to.node("greater_than", {x, e.to.number(e.real("threshold"), x.dtype)},
                                  {}, DType::bool_, x.shape);
  e.give("multiply", {e.in(1), e.to.cast(above, e.dtype(1))});
}

// --- labels ---

// Where a label is one, and the labels with 0 where they are none.
struct Labels {
  Written valid, places;
};
Labels labels_of(Emit& e) {
  const Written label = e.to.cast(e.in(1), DType::int64);
  const Written none = e.to.full(op::Scalar(e.integer("ignore_index")), DType::int64, Shape({1}));
  const Written valid = e.to.node("not_equal", {label, none}, {}, DType::bool_, label.shape);
  return {valid, e.to.node("multiply", {label, e.to.cast(valid, DType::int64)}, {}, DType::int64,
                           label.shape)};
}
// x at the labels, `fill` where there is none.
Written chosen(Emit& e, const Written& x, const Labels& labels, double fill) {
  const Shape& shape = labels.places.shape;
  const int axis = from_start(e.integer("axis"), e.rank());
  const Written at =
      e.to.node("take_along_axis", {x, labels.places}, {i32("axis", axis)}, x.dtype, shape);
  const Written others =
      e.to.node("full_like", {at, e.to.number(fill, x.dtype)},
                {dtype("dtype", x.dtype), place("place", false)}, x.dtype, shape);
  return e.to.node("where", {labels.valid, at, others}, {}, x.dtype, shape);
}
// The weight of each label's class, 0 where there is none.
Written weights(Emit& e, const Written& of_classes, const Labels& labels, DType of) {
  const Written valid = e.to.cast(labels.valid, of);
  if (!of_classes.id) return valid;
  const Written& label = labels.places;
  const Written flat = e.to.reshape(label, std::vector<int64_t>{-1}, Shape({label.shape.numel()}));
  const Written zero = e.to.full(op::Scalar(int64_t{0}), DType::int32, Shape({1}));
  const Written rows =
      e.to.node("gather", {e.to.cast(of_classes, of), flat, zero}, {}, of, flat.shape);
  const Written each = e.to.reshape(rows, e.to.sizes_of(label), label.shape);
  return e.to.node("multiply", {each, valid}, {}, of, label.shape);
}

void select_class(Emit& e) {
  e.give(chosen(e, e.in(0), labels_of(e), e.real("fill")));
}
void class_weights(Emit& e) {
  e.give(weights(e, e.in(0), labels_of(e), e.result().dtype));
}
void cross_entropy_of_labels(Emit& e) {
  const Labels labels = labels_of(e);
  const DType of = e.result().dtype;
  const int axis = from_start(e.integer("axis"), e.rank());
  const Written x = e.to.cast(e.in(0), of);
  const Written logs = e.to.node("log_softmax", {x}, {i32("axis", axis)}, of, x.shape);
  const Written loss = e.to.scale(chosen(e, logs, labels, 0), -1);
  if (!e.has(2)) return e.give(loss);
  e.give(e.to.node("multiply", {loss, weights(e, e.in(2), labels, of)}, {}, of, loss.shape));
}

// --- boxes ---

void suppress_boxes(Emit& e) {
  if (e.real("extra") != 0 || e.real("eta") != 1)
    e.unsupported("a threshold that changes, or boxes whose ends count");
  e.give("nms", {e.in(0)}, {f32("threshold", e.real("threshold"))});
}

constexpr WriteRow kRows[] = {
    {"add_slices", add_slices},
    {"bincount", bincount},
    {"class_weights", class_weights},
    {"combine_along", combine_along},
    {"cummax", running<"cummax">},
    {"cummin", running<"cummin">},
    {"eye", eye},
    {"fft_c2c", fourier},
    {"gumbel_softmax", gumbel},
    {"hard_cross_entropy", cross_entropy_of_labels},
    {"histogram", histogram},
    {"logcumsumexp", running_logsumexp},
    {"lstsq_solution", least_squares},
    {"lu_factor", lu},
    {"lu_permutation", lu_permutation},
    {"qr_factors", qr},
    {"repeat_interleave", repeat},
    {"rrelu", random_relu},
    {"select_class", select_class},
    {"suppress_boxes", suppress_boxes},
    {"thresholded_relu_grad", thresholded_relu_slope},
    {"unique_all", unique},
};

}  // namespace

std::span<const WriteRow> write_linear_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
