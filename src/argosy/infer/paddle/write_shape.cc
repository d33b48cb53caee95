#include <algorithm>

#include "argosy/infer/paddle/emit.h"

// Shapes, parts and places of elements, tensors from nothing.
namespace argosy::infer::paddle {
namespace {

int place_of_axis(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void assign(Emit& e) {
  e.give(e.in(0));
}

void reshape(Emit& e) {
  e.give("reshape", {e.in(0), e.sizes("shape")});
}
void reshape_like(Emit& e) {
  e.give("reshape", {e.in(0), e.to.sizes_of(e.in(1))});
}
void flatten(Emit& e) {
  if (e.rank() == 0) return e.give("reshape", {e.in(0), e.to.integers({-1})});
  e.give("flatten", {e.in(0)},
         {i32("start_axis", e.integer("start_axis")), i32("stop_axis", e.integer("stop_axis"))});
}
void transpose(Emit& e) {
  e.give("transpose", {e.in(0)}, {i32s("perm", e.integers("perm"))});
}
void squeeze(Emit& e) {
  std::vector<int64_t> axes;
  const auto& given = e.attr<op::IntArray>("axis");
  const bool all = given.none || given.size() == 0;
  for (const int64_t axis : e.axes("axis", e.rank())) {
    const int64_t size = e.shape()[static_cast<int>(axis)];
    // An axis of another size stays.
    if (size == 1 || (size < 0 && !all && e.result().shape.rank() < e.rank())) axes.push_back(axis);
  }
  if (axes.empty()) return e.give(e.in(0));
  e.give("squeeze", {e.in(0), e.to.integers(axes)});
}
void unsqueeze(Emit& e) {
  // One after the other, each in what the one before gave.
  Written x = e.in(0);
  for (const int64_t axis : e.known("axis"))
    x = e.to.unsqueeze(x, place_of_axis(axis, x.shape.rank() + 1));
  e.give(x);
}
void expand(Emit& e) {
  e.give("expand", {e.in(0), e.sizes("shape")});
}
void expand_like(Emit& e) {
  e.give("expand", {e.in(0), e.to.sizes_of(e.in(1))});
}
void tile(Emit& e) {
  e.give("tile", {e.in(0), e.sizes("repeat_times")});
}
std::vector<Written> of_result_dtype(Emit& e) {
  std::vector<Written> parts = e.list(0);
  for (Written& x : parts) x = e.to.cast(x, e.result().dtype);
  return parts;
}
void concat(Emit& e) {
  e.give("concat", {e.to.combine(of_result_dtype(e)),
                    e.to.number(static_cast<double>(e.known("axis")[0]), DType::int32)});
}
void stack(Emit& e) {
  e.give("stack", {e.to.combine(of_result_dtype(e))}, {i32("axis", e.known("axis")[0])});
}

std::vector<Written> like_results(Emit& e) {
  std::vector<Written> out;
  for (const auto& v : e.o.results) out.push_back({0, v->dtype, v->shape});
  return out;
}
void give_all(Emit& e, const std::vector<Written>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) e.give(parts[i], i);
}
// The sizes of the parts: from the results where these are known, else as they are given. One
// number alone is how many equal parts there are.
void split(Emit& e) {
  const int64_t axis = e.integer("axis");
  const int at = place_of_axis(axis, e.rank());
  const Written where = e.to.number(static_cast<double>(at), DType::int32);
  std::vector<int64_t> parts;
  for (const auto& v : e.o.results)
    if (v->shape[at] >= 0) parts.push_back(v->shape[at]);
  if (parts.size() == e.o.results.size())
    return give_all(
        e, e.to.list_of("split", {e.in(0), e.to.integers(parts), where}, {}, like_results(e)));
  if (e.attr<op::IntArray>("sizes").single)
    return give_all(
        e, e.to.list_of("split_with_num", {e.in(0), where},
                        {i32("num", static_cast<int64_t>(e.o.results.size()))}, like_results(e)));
  give_all(e, e.to.list_of("split", {e.in(0), e.sizes("sizes"), where}, {}, like_results(e)));
}
void unbind(Emit& e) {
  give_all(e, e.to.list_of("unbind", {e.in(0)}, {i32("axis", e.integer("axis"))}, like_results(e)));
}

Sets slice_sets(Emit& e, const std::vector<int64_t>& axes, const std::vector<int64_t>& drop) {
  const bool fixed = e.is_known("starts") && e.is_known("ends");
  return {i64s("axes", axes),
          i64s("infer_flags", std::vector<int64_t>(axes.size(), fixed ? 1 : -1)),
          i64s("decrease_axis", drop)};
}
// Paddle counts axes from the first one.
std::vector<int64_t> counted(Emit& e, const char* name) {
  std::vector<int64_t> axes = e.integers(name);
  for (int64_t& a : axes) a += a < 0 ? e.rank() : 0;
  return axes;
}
void slice(Emit& e) {
  const std::vector<int64_t> axes = counted(e, "axes"), drop = counted(e, "decrease_axis");
  const std::vector<int64_t>& steps = e.integers("strides");
  if (axes.empty()) return e.give(e.in(0));
  if (std::ranges::all_of(steps, [](int64_t s) { return s == 1; }))
    return e.give("slice", {e.in(0), e.sizes("starts"), e.sizes("ends")},
                  slice_sets(e, axes, drop));
  Shape shape = e.result().shape;  // with the axes that are dropped, in order
  std::vector<int64_t> dropped = drop;
  std::ranges::sort(dropped);
  if (!dropped.empty()) {
    shape = {};
    int next = 0;
    for (int d = 0; d < e.rank(); ++d)
      shape.push_back(std::ranges::binary_search(dropped, d) ? 1 : e.result().shape[next++]);
  }
  const Written y = e.to.node("strided_slice",
                              {e.in(0), e.sizes("starts"), e.sizes("ends"), e.to.integers(steps)},
                              {i32s("axes", axes)}, e.dtype(), shape);
  if (dropped.empty()) return e.give(y);
  e.give("squeeze", {y, e.to.integers(dropped)});
}
void set_slice(Emit& e) {
  const std::vector<int64_t> axes = counted(e, "axes");
  std::vector<int64_t> steps = e.integers("strides");
  if (steps.empty()) steps.assign(axes.size(), 1);
  e.give("set_value_with_tensor",
         {e.in(0), e.to.cast(e.in(1), e.dtype(0)), e.sizes("starts"), e.sizes("ends"),
          e.to.integers(steps)},
         {i64s("axes", axes), i64s("decrease_axes", counted(e, "decrease_axis")),
          i64s("none_axes", std::vector<int64_t>())});
}
void flip(Emit& e) {
  const auto& given = e.attr<op::IntArray>("axis");
  if (!given.none && given.size() == 0) return e.give(e.in(0));
  e.give("flip", {e.in(0)}, {i32s("axis", e.axes("axis", e.rank()))});
}
void roll(Emit& e) {
  const auto& axes = e.attr<op::IntArray>("axis");
  e.give("roll", {e.in(0), e.sizes("shifts")},
         {i64s("axis", std::vector<int64_t>(axes.values.begin(), axes.values.end()))});
}

// Padding that is no constant is Paddle's for images of three dimensions: others get more.
void pad_by_values(Emit& e, const std::vector<int64_t>& pads) {
  const int rank = e.rank();
  if (rank < 3 || rank > 5 || pads[0] || pads[1] || pads[2] || pads[3])
    e.unsupported("padding by values of other than the last dimensions of 3 to 5");
  Written x = e.in(0);
  std::vector<int64_t> backward;
  for (int d = rank - 1; d > 1; --d) {
    backward.push_back(pads[static_cast<size_t>(2 * d)]);
    backward.push_back(pads[static_cast<size_t>(2 * d + 1)]);
  }
  backward.resize(6);
  for (int d = rank; d < 5; ++d) x = e.to.unsqueeze(x, 2);
  Shape padded = e.result().shape;
  Shape wide({padded[0], padded[1]});
  for (int d = rank; d < 5; ++d) wide.push_back(1);
  for (int d = 2; d < rank; ++d) wide.push_back(padded[d]);
  Written y =
      e.to.node("pad3d", {x, e.to.integers(backward)},
                {text("mode", e.text("mode")), f64("pad_value", 0), text("data_format", "NCDHW")},
                e.dtype(), wide);
  for (int d = rank; d < 5; ++d) y = e.to.squeeze(y, 2);
  e.give(y);
}
void pad(Emit& e) {
  if (e.attr<op::Scalar>("value").tensor.defined()) e.unsupported("a value that only a run knows");
  const std::vector<int64_t> pads = e.known("paddings");
  if (std::ranges::any_of(pads, [](int64_t p) { return p < 0; }))
    e.unsupported("padding that cuts");
  if (e.text("mode") != "constant") return pad_by_values(e, pads);
  e.give("pad", {e.in(0), e.to.full(e.attr<op::Scalar>("value"), e.dtype(), Shape({1}))},
         {i32s("paddings", pads)});
}

// --- places ---

// Rows by an index of any rank: by a flat one, which then gets its dimensions back.
void take_slices(Emit& e) {
  const int at = place_of_axis(e.integer("axis"), e.rank());
  const Written axis = e.to.number(at, DType::int32);
  if (e.rank(1) == 1) return e.give("gather", {e.in(0), e.in(1), axis});
  const Written flat = e.to.reshape(e.in(1), std::vector<int64_t>{-1}, Shape({e.shape(1).numel()}));
  Shape shape = e.shape();
  shape[at] = flat.shape[0];
  const Written rows = e.to.node("gather", {e.in(0), flat, axis}, {}, e.dtype(), shape);
  std::vector<Written> sizes;
  for (int d = 0; d < at; ++d) sizes.push_back(e.to.size_of(e.in(0), d));
  for (int d = 0; d < e.rank(1); ++d) sizes.push_back(e.to.size_of(e.in(1), d));
  for (int d = at + 1; d < e.rank(); ++d) sizes.push_back(e.to.size_of(e.in(0), d));
  e.give(sizes.empty() ? e.like_result("reshape", {rows, e.to.integers({})})
                       : e.like_result("reshape", {rows, e.to.vector_of(sizes)}));
}
void take_along(Emit& e) {
  e.give("take_along_axis", {e.in(0), e.in(1)}, {i32("axis", e.integer("axis"))});
}
void put_along(Emit& e) {
  const Written values = e.to.cast(e.in(2), e.dtype(0));
  e.give("put_along_axis",
         {e.in(0), e.in(1), e.like_result("expand", {values, e.to.sizes_of(e.in(1))})},
         {i32("axis", e.integer("axis")), text("reduce", e.text("reduce")),
          boolean("include_self", e.flag("include_self"))});
}
// Indices broadcast together, and become the columns of one.
void index_get(Emit& e) {
  const std::vector<int64_t>& axes = e.integers("axes");
  Shape form;
  std::vector<Written> index;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i))
      e.unsupported("indexing that leaves out leading dimensions");
    index.push_back(e.to.cast(e.to.value(e.o.operands[1 + i]), DType::int64));
  }
  const int rank = e.result().shape.rank() - (e.rank() - static_cast<int>(axes.size()));
  for (int d = 0; d < rank; ++d) form.push_back(e.result().shape[d]);
  if (index.size() > 1) index = e.to.broadcast(index, form);
  Shape all = form;
  all.push_back(static_cast<int64_t>(index.size()));
  const Written columns =
      e.to.node("stack", {e.to.combine(index)}, {i32("axis", rank)}, DType::int64, all);
  e.give("gather_nd", {e.in(0), columns});
}
Written places_of(Emit& e, const Written& mask) {
  return e.to.node("nonzero", {mask}, {}, DType::int64, Shape({kUnknown, mask.shape.rank()}));
}
void mask_places(Emit& e) {
  e.give("nonzero", {e.in(0)});
}
void mask_indices(Emit& e) {
  const Written all = places_of(e, e.in(0));
  const int64_t axis[] = {1}, flag[] = {1};
  for (size_t i = 0; i < e.o.results.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    e.give(e.to.node("slice", {all, e.to.integers({at}), e.to.integers({at + 1})},
                     {i64s("axes", axis), i64s("infer_flags", flag), i64s("decrease_axis", axis)},
                     DType::int64, e.result(i).shape),
           i);
  }
}
// Rows of x where the mask, which has its leading dimensions, holds.
void select_true(Emit& e) {
  e.give("gather_nd", {e.in(0), places_of(e, e.in(1))});
}
void topk(Emit& e) {
  const auto& k = e.attr<op::Scalar>("k");
  const Written count = k.tensor.defined()
                            ? e.attr_value(0)
                            : e.to.full(op::Scalar(k.integer()), DType::int32, Shape({1}));
  e.give("topk", {e.in(0), count},
         {i32("axis", e.integer("axis")), boolean("largest", e.flag("largest")),
          boolean("sorted", e.flag("sorted"))});
}
void sort(Emit& e) {
  e.give("argsort", {e.in(0)},
         {i32("axis", e.integer("axis")), boolean("descending", e.flag("descending")),
          boolean("stable", e.flag("stable"))});
}
void one_hot(Emit& e) {
  e.give("one_hot",
         {e.in(0), e.to.number(static_cast<double>(e.known("num_classes")[0]), DType::int32)});
}
template <ForeignName op>
void triangle(Emit& e) {
  e.give(op, {e.in(0)}, {i32("diagonal", e.integer("diagonal"))});
}

// --- sizes and tensors from nothing ---

void shape(Emit& e) {
  e.give(e.to.cast(e.to.sizes_of(e.in(0)), e.result().dtype));
}
void numel(Emit& e) {
  e.give("numel", {e.in(0)});
}
// The product of sizes, less a number.
void size_of(Emit& e) {
  const std::vector<int64_t> axes = e.axes("axis", e.rank());
  Written n = e.to.full(op::Scalar(int64_t{1}), DType::int64, {});
  for (const int64_t a : axes)
    n = e.to.node("multiply", {n, e.to.size_of(e.in(0), static_cast<int>(a))}, {}, DType::int64,
                  {});
  n = e.to.cast(n, e.result().dtype);
  e.give(e.real("minus") == 0 ? n : e.to.scale(n, 1, -e.real("minus")));
}

Written filled(Emit& e, const char* sizes, const Written& value) {
  return e.like_result("full_with_tensor", {value, e.sizes(sizes)},
                       {dtype("dtype", e.result().dtype)});
}
void full(Emit& e) {
  const auto& value = e.attr<op::Scalar>("fill_value");
  const DType dtype = e.result().dtype;
  if (!value.tensor.defined()) {
    if (e.is_known("shape")) return e.give(e.to.full(value, dtype, e.result().shape));
    return e.give(filled(e, "shape", e.to.full(value, dtype, Shape({1}))));
  }
  const Written given = e.to.cast(e.to.value(e.o.attr_values().back()), dtype);
  e.give(filled(e, "shape", e.to.reshape(given, std::vector<int64_t>{1}, Shape({1}))));
}
template <int value>
void filled_with(Emit& e) {
  const DType dtype = e.result().dtype;
  if (e.is_known("shape")) return e.give(e.to.full(op::Scalar(value), dtype, e.result().shape));
  e.give(filled(e, "shape", e.to.full(op::Scalar(value), dtype, Shape({1}))));
}
Written filled_like(Emit& e, const op::Scalar& value) {
  const DType of = e.result().dtype;
  return e.like_result("full_like", {e.in(0), e.to.full(value, of, Shape({1}))},
                       {dtype("dtype", of), place("place", false)});
}
void full_like(Emit& e) {
  const auto& value = e.attr<op::Scalar>("fill_value");
  if (value.tensor.defined()) e.unsupported("a value that only a run knows");
  e.give(filled_like(e, value));
}
template <int value>
void like_with(Emit& e) {
  e.give(filled_like(e, op::Scalar(value)));
}
void arange(Emit& e) {
  const DType of = e.result().dtype;
  size_t at = 0;
  auto scalar = [&](const op::Scalar& s) {
    if (!s.tensor.defined()) return e.to.full(s, of, Shape({1}));
    const Written x = e.to.cast(e.attr_value(at++), of);
    return x.shape.rank() == 1 ? x : e.to.reshape(x, std::vector<int64_t>{1}, Shape({1}));
  };
  const auto &start = e.attr<op::Scalar>("start"), &step = e.attr<op::Scalar>("step");
  const auto& end = e.attr<std::optional<op::Scalar>>("end");
  const Written a = end ? scalar(start) : e.to.full(op::Scalar(int64_t{0}), of, Shape({1}));
  const Written b = scalar(end ? *end : start);
  e.give("arange", {a, b, scalar(step)}, {dtype("dtype", of), place("place", true)});
}

constexpr WriteRow kRows[] = {
    {"arange", arange},
    {"assign", assign},
    {"concat", concat},
    {"expand", expand},
    {"expand_like", expand_like},
    {"flatten", flatten},
    {"flip", flip},
    {"full", full},
    {"full_like", full_like},
    {"index_get", index_get},
    {"mask_indices", mask_indices},
    {"mask_places", mask_places},
    {"numel", numel},
    {"one_hot", one_hot},
    {"ones", filled_with<1>},
    {"ones_like", like_with<1>},
    {"pad", pad},
    {"put_along", put_along},
    {"reshape", reshape},
    {"reshape_like", reshape_like},
    {"roll", roll},
    {"select_true", select_true},
    {"set_slice", set_slice},
    {"shape", shape},
    {"size_of", size_of},
    {"slice", slice},
    {"sort_with_index", sort},
    {"split", split},
    {"squeeze", squeeze},
    {"stack", stack},
    {"take_along", take_along},
    {"take_slices", take_slices},
    {"tile", tile},
    {"topk", topk},
    {"transpose", transpose},
    {"tril", triangle<"tril">},
    {"triu", triangle<"triu">},
    {"unbind", unbind},
    {"unsqueeze", unsqueeze},
    {"zeros", filled_with<0>},
    {"zeros_like", like_with<0>},
};

}  // namespace

std::span<const WriteRow> write_shape_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
