#include <limits>

#include "argosy/infer/onnx/emit.h"

// Shapes, parts and places of elements, tensors from nothing.
namespace argosy::infer::onnx {
namespace {

void assign(Emit& e) {
  e.give(e.in(0));
}

void reshape(Emit& e) {
  e.give(e.reshape(e.in(0), e.sizes("shape")));
}
void reshape_like(Emit& e) {
  e.give(e.reshape(e.in(0), e.node("Shape", {e.in(1)})));
}
void flatten(Emit& e) {
  const int rank = e.rank();
  auto axis = [&](const char* name) {
    const int64_t a = e.integer(name);
    return static_cast<int>(a < 0 ? a + rank : a);
  };
  if (rank == 0) return e.give(e.reshape(e.in(0), e.to.integers({-1})));
  const int start = axis("start_axis"), stop = axis("stop_axis");
  std::vector<std::string> parts;
  for (int d = 0; d < start; ++d) parts.push_back(e.size(0, d));
  parts.push_back(e.to.integers({-1}));
  for (int d = stop + 1; d < rank; ++d) parts.push_back(e.size(0, d));
  e.give(
      e.reshape(e.in(0), parts.size() == 1 ? parts[0] : e.to.node("Concat", parts, {{"axis", 0}})));
}
void transpose(Emit& e) {
  e.give(e.transposed(e.in(0), e.integers("perm")));
}
// Axes of squeeze and unsqueeze are all known when a Program is made.
void squeeze(Emit& e) {
  std::vector<int64_t> axes;
  const bool all = e.attr<op::IntArray>("axis").none || e.attr<op::IntArray>("axis").size() == 0;
  for (int64_t axis : e.axes("axis", e.rank()))
    if (e.shape()[static_cast<int>(axis)] == 1 || !all) {
      // An axis of another size stays.
      if (e.shape()[static_cast<int>(axis)] == 1 || e.result().shape.rank() < e.rank())
        axes.push_back(axis);
    }
  std::erase_if(axes, [&](int64_t axis) { return e.shape()[static_cast<int>(axis)] > 1; });
  if (axes.empty()) return e.give(e.in(0));
  e.give(e.node("Squeeze", {e.in(0), e.to.integers(std::span<const int64_t>(axes))}));
}
void unsqueeze(Emit& e) {
  // One after the other, each in what the one before gave.
  std::string x = e.in(0);
  int rank = e.rank();
  for (int64_t axis : e.known("axis")) {
    ++rank;
    x = e.node("Unsqueeze", {x, e.to.integers({axis < 0 ? axis + rank : axis})});
  }
  e.give(x);
}
void expand(Emit& e) {
  const auto& shape = e.attr<op::IntArray>("shape");
  if (!shape.symbols.empty()) return e.give(e.node("Expand", {e.in(0), e.sizes("shape")}));
  // -1 keeps a size, as 1 does where both broadcast.
  std::vector<int64_t> sizes(shape.values.begin(), shape.values.end());
  for (int64_t& size : sizes) size = size == -1 ? 1 : size;
  e.give(e.node("Expand", {e.in(0), e.to.integers(std::span<const int64_t>(sizes))}));
}
void expand_like(Emit& e) {
  e.give(e.node("Expand", {e.in(0), e.node("Shape", {e.in(1)})}));
}
void tile(Emit& e) {
  const auto& repeats = e.attr<op::IntArray>("repeat_times");
  const int rank = e.rank(), count = static_cast<int>(repeats.size());
  std::string x = e.in(0);
  if (count > rank) {
    std::vector<int64_t> axes;
    for (int i = 0; i < count - rank; ++i) axes.push_back(i);
    x = e.node("Unsqueeze", {x, e.to.integers(std::span<const int64_t>(axes))});
  }
  std::string times = e.sizes("repeat_times");
  if (count < rank) {
    const std::vector<int64_t> ones(static_cast<size_t>(rank - count), 1);
    times = e.node("Concat", {e.to.integers(std::span<const int64_t>(ones)), times}, {{"axis", 0}});
  }
  e.give(e.node("Tile", {x, times}));
}
void concat(Emit& e) {
  e.give(e.to.node("Concat", e.list(0), {{"axis", e.known("axis")[0]}}));
}
void stack(Emit& e) {
  const int64_t axis = e.known("axis")[0];
  const int rank = e.result().shape.rank();
  const int64_t at = axis < 0 ? axis + rank : axis;
  std::vector<std::string> parts;
  for (const std::string& x : e.list(0)) parts.push_back(e.unsqueeze(x, {at}));
  e.give(e.to.node("Concat", parts, {{"axis", at}}));
}
// The sizes of the parts: from the results where these are known, else as they are given. One
// number alone is how many equal parts there are.
void split(Emit& e) {
  const int64_t axis = e.integer("axis");
  const int at = static_cast<int>(axis < 0 ? axis + e.rank() : axis);
  std::vector<int64_t> parts;
  for (const auto& v : e.o.results)
    if (v->shape[at] >= 0) parts.push_back(v->shape[at]);
  std::string sizes;
  if (parts.size() == e.o.results.size())
    sizes = e.to.integers(std::span<const int64_t>(parts));
  else if (e.attr<op::IntArray>("sizes").single)
    e.unsupported("equal parts of an axis whose size only a run knows");
  else
    sizes = e.sizes("sizes");
  const std::vector<std::string> names =
      e.to.nodes("Split", {e.in(0), sizes}, e.o.results.size(), {{"axis", axis}});
  for (size_t i = 0; i < names.size(); ++i) e.give(names[i], i);
}
void unbind(Emit& e) {
  const int64_t axis = e.integer("axis");
  for (size_t i = 0; i < e.o.results.size(); ++i)
    e.give(e.node("Gather", {e.in(0), e.to.number(static_cast<double>(i), DType::int64)},
                  {{"axis", axis}}),
           i);
}
void slice(Emit& e) {
  const std::vector<int64_t>&axes = e.integers("axes"), &drop = e.integers("decrease_axis");
  std::vector<int64_t> steps = e.integers("strides");
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (axes.empty()) return e.give(e.in(0));
  std::string y = e.node("Slice", {e.in(0), e.sizes("starts"), e.sizes("ends"),
                                   e.to.integers(std::span<const int64_t>(axes)),
                                   e.to.integers(std::span<const int64_t>(steps))});
  if (!drop.empty()) y = e.node("Squeeze", {y, e.to.integers(std::span<const int64_t>(drop))});
  e.give(y);
}
void flip(Emit& e) {
  std::string x = e.in(0);
  const auto& given = e.attr<op::IntArray>("axis");
  if (!given.none && given.size() == 0) return e.give(x);
  for (int64_t axis : e.axes("axis", e.rank()))
    x = e.node("Slice",
               {x, e.to.integers({-1}), e.to.integers({std::numeric_limits<int64_t>::min() + 1}),
                e.to.integers({axis}), e.to.integers({-1})});
  e.give(x);
}
// The end of an axis before its beginning.
void roll(Emit& e) {
  const auto& axes = e.attr<op::IntArray>("axis");
  const std::vector<int64_t> shifts = e.known("shifts");
  const bool flat = axes.none || axes.size() == 0;
  std::string x = flat ? e.reshape(e.in(0), e.to.integers({-1})) : e.in(0);
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t axis = flat ? 0 : axes[i] < 0 ? axes[i] + e.rank() : axes[i];
    const int64_t size = flat ? e.shape().numel() : e.shape()[static_cast<int>(axis)];
    if (size < 0) e.unsupported("an axis whose size only a run knows");
    const int64_t shift = size ? ((shifts[i] % size) + size) % size : 0;
    if (shift == 0) continue;
    auto part = [&](int64_t begin, int64_t end) {
      return e.node("Slice",
                    {x, e.to.integers({begin}), e.to.integers({end}), e.to.integers({axis})});
    };
    x = e.node("Concat", {part(size - shift, size), part(0, size - shift)}, {{"axis", axis}});
  }
  e.give(flat ? e.reshape(x, e.node("Shape", {e.in(0)})) : x);
}
void pad(Emit& e) {
  const std::string& mode = e.text("mode");
  const char* theirs = mode == "constant"    ? "constant"
                       : mode == "reflect"   ? "reflect"
                       : mode == "replicate" ? "edge"
                                             : "wrap";
  if (std::string_view(theirs) == "wrap" && e.to.opset() < 19)
    e.unsupported("circular padding before opset_version 19");
  const int rank = e.rank();
  // (before, after) of each axis as all before, then all after.
  std::vector<int64_t> order;
  for (int side = 0; side < 2; ++side)
    for (int d = 0; d < rank; ++d) order.push_back(2 * d + side);
  const std::string pads =
      e.node("Gather", {e.sizes("paddings"), e.to.integers(std::span<const int64_t>(order))});
  if (e.attr<op::Scalar>("value").tensor.defined()) e.unsupported("a value that only a run knows");
  const std::string value = mode == "constant" ? e.number(e.attr<op::Scalar>("value").real()) : "";
  e.give(e.node("Pad", {e.in(0), pads, value}, {{"mode", theirs}}));
}

// --- places ---

void take_slices(Emit& e) {
  e.give(e.node("Gather", {e.in(0), e.in(1)}, {{"axis", e.integer("axis")}}));
}
void take_along(Emit& e) {
  // The index may be larger or smaller than x on the other axes; only equal sizes are one op.
  e.give(e.node("GatherElements", {e.in(0), e.in(1)}, {{"axis", e.integer("axis")}}));
}
void index_get(Emit& e) {
  const std::vector<int64_t>& axes = e.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(i))
      e.unsupported("indexing that leaves out leading dimensions");
  std::vector<std::string> index = e.list(1);
  // Indices broadcast together, and become the columns of one.
  int rank = 0;
  for (size_t i = 0; i < index.size(); ++i)
    rank = std::max(rank, e.o.operands[1 + i]->shape.rank());
  std::string sum = index[0];
  for (size_t i = 1; i < index.size(); ++i) sum = e.node("Add", {sum, index[i]});
  const std::string form = e.node("Shape", {sum});
  std::vector<std::string> columns;
  for (size_t i = 0; i < index.size(); ++i) {
    const DType dtype = e.o.operands[1 + i]->dtype;
    const std::string wide = dtype == DType::int64 ? index[i] : e.to.cast(index[i], DType::int64);
    columns.push_back(e.unsqueeze(e.node("Expand", {wide, form}), {rank}));
  }
  const std::string all =
      columns.size() == 1 ? columns[0] : e.to.node("Concat", columns, {{"axis", rank}});
  e.give(e.node("GatherND", {e.in(0), all}));
}
// x with a value in one slice: what is before it, the value, what is behind.
void set_slice(Emit& e) {
  const std::vector<int64_t>&axes = e.integers("axes"), &steps = e.integers("strides"),
        &drop = e.integers("decrease_axis");
  if (axes.size() != 1 || (!steps.empty() && steps[0] != 1))
    e.unsupported("more than one slice of step 1");
  const std::string axis = e.to.integers({axes[0]});
  const std::string begin = e.sizes("starts"), end = e.sizes("ends");
  const std::string old = e.node("Slice", {e.in(0), begin, end, axis});
  std::string value = e.dtype(1) == e.dtype(0) ? e.in(1) : e.to.cast(e.in(1), e.dtype(0));
  if (!drop.empty() && e.rank(1) + 1 == e.rank(0)) value = e.node("Unsqueeze", {value, axis});
  value = e.node("Expand", {value, e.node("Shape", {old})});
  const std::string before = e.node("Slice", {e.in(0), e.to.integers({0}), begin, axis});
  const std::string behind =
      e.node("Slice", {e.in(0), end, e.to.integers({std::numeric_limits<int64_t>::max()}), axis});
  e.give(e.node("Concat", {before, value, behind}, {{"axis", axes[0]}}));
}
const char* reduction_of(Emit& e) {
  const std::string& reduce = e.text("reduce");
  if (reduce == "assign") return "none";
  if (!e.flag("include_self")) e.unsupported("include_self=False");
  if (reduce == "add" || reduce == "sum") return "add";
  if (reduce == "mul" || reduce == "multiply" || reduce == "prod") return "mul";
  if (reduce != "amax" && reduce != "amin") e.unsupported("this way to combine values");
  if (e.to.opset() < 18) e.unsupported("amax and amin before opset_version 18");
  return reduce == "amax" ? "max" : "min";
}
void put_along(Emit& e) {
  const std::string values = e.node("Expand", {e.in(2), e.node("Shape", {e.in(1)})});
  e.give(e.node("ScatterElements", {e.in(0), e.in(1), values},
                {{"axis", e.integer("axis")}, {"reduction", reduction_of(e)}}));
}
// Places of true elements [count, rank], and one vector for each dimension.
void mask_places(Emit& e) {
  e.give(e.transposed(e.node("NonZero", {e.in(0)}), {1, 0}));
}
void mask_indices(Emit& e) {
  const std::string all = e.node("NonZero", {e.in(0)});
  for (size_t i = 0; i < e.o.results.size(); ++i)
    e.give(e.node("Gather", {all, e.to.number(static_cast<double>(i), DType::int64)}), i);
}
// Rows of x where the mask, which has its leading dimensions, holds.
void select_true(Emit& e) {
  std::vector<std::string> sizes{e.to.integers({-1})};
  for (int d = e.rank(1); d < e.rank(0); ++d) sizes.push_back(e.size(0, d));
  const std::string form = sizes.size() == 1 ? sizes[0] : e.to.node("Concat", sizes, {{"axis", 0}});
  const std::string mask = e.reshape(e.in(1), e.to.integers({-1}));
  e.give(e.node("Compress", {e.reshape(e.in(0), form), mask}, {{"axis", 0}}));
}
void topk(Emit& e) {
  const auto& k = e.attr<op::Scalar>("k");
  const std::string count =
      k.tensor.defined()
          ? e.reshape(e.to.cast(e.to.name(e.o.attr_values()[0]), DType::int64), e.to.integers({1}))
          : e.to.integers({k.integer()});
  const auto out = e.to.nodes(
      "TopK", {e.in(0), count}, 2,
      {{"axis", e.integer("axis")}, {"largest", e.flag("largest")}, {"sorted", e.flag("sorted")}});
  e.give(out[0], 0);
  e.give(out[1], 1);
}
void sort(Emit& e) {
  const int64_t axis = e.integer("axis");
  const int at = static_cast<int>(axis < 0 ? axis + e.rank() : axis);
  const auto out =
      e.to.nodes("TopK", {e.in(0), e.size(0, at)}, 2,
                 {{"axis", axis}, {"largest", e.flag("descending")}, {"sorted", true}});
  e.give(out[0], 0);
  e.give(out[1], 1);
}
void one_hot(Emit& e) {
  const std::string depth = e.sizes("num_classes");
  const std::string x = e.dtype() == DType::int64 ? e.in(0) : e.to.cast(e.in(0), DType::int64);
  const std::string values =
      e.node("Concat",
             {e.node("Unsqueeze", {e.to.number(0, DType::float32), e.to.integers({0})}),
              e.node("Unsqueeze", {e.to.number(1, DType::float32), e.to.integers({0})})},
             {{"axis", 0}});
  e.give(e.node("OneHot", {x, depth, values}));
}
template <bool upper>
void triangle(Emit& e) {
  e.give(e.node("Trilu",
                {e.in(0), e.to.number(static_cast<double>(e.integer("diagonal")), DType::int64)},
                {{"upper", upper}}));
}

// --- sizes and tensors from nothing ---

void shape(Emit& e) {
  const std::string y = e.node("Shape", {e.in(0)});
  e.give(e.result().dtype == DType::int64 ? y : e.to.cast(y, e.result().dtype));
}
void numel(Emit& e) {
  e.give(e.node("Size", {e.in(0)}));
}
// The product of sizes, less a number.
void size_of(Emit& e) {
  const std::vector<int64_t> axes = e.axes("axis", e.rank());
  const std::string sizes =
      e.node("Gather", {e.node("Shape", {e.in(0)}), e.to.integers(std::span<const int64_t>(axes))});
  std::string n = e.reduce("ReduceProd", sizes, {0}, false);
  const DType dtype = e.result().dtype;
  if (dtype != DType::int64) n = e.to.cast(n, dtype);
  if (e.real("minus") != 0) n = e.node("Sub", {n, e.to.number(e.real("minus"), dtype)});
  e.give(n);
}
std::string filled(Emit& e, const std::string& sizes, const op::Scalar& value) {
  const DType dtype = e.result().dtype;
  return e.node("Expand", {e.to.number(value.real(), dtype), sizes});
}
void full(Emit& e) {
  const auto& value = e.attr<op::Scalar>("fill_value");
  const std::string sizes = e.sizes("shape");
  if (!value.tensor.defined()) return e.give(filled(e, sizes, value));
  const Ref<Value>& v = e.o.attr_values().back();
  const std::string x =
      v->dtype == e.result().dtype ? e.to.name(v) : e.to.cast(e.to.name(v), e.result().dtype);
  e.give(e.node("Expand", {e.reshape(x, e.to.integers(std::span<const int64_t>())), sizes}));
}
void full_like(Emit& e) {
  const auto& value = e.attr<op::Scalar>("fill_value");
  if (value.tensor.defined()) e.unsupported("a value that only a run knows");
  e.give(filled(e, e.node("Shape", {e.in(0)}), value));
}
template <int value>
void filled_with(Emit& e) {
  e.give(filled(e, e.sizes("shape"), op::Scalar(value)));
}
template <int value>
void filled_like(Emit& e) {
  e.give(filled(e, e.node("Shape", {e.in(0)}), op::Scalar(value)));
}
void arange(Emit& e) {
  const DType dtype = e.result().dtype;
  size_t at = 0;
  auto scalar = [&](const op::Scalar& s) {
    if (!s.tensor.defined()) return e.to.number(s.real(), dtype);
    const Ref<Value>& v = e.o.attr_values()[at++];
    const std::string x = e.reshape(e.to.name(v), e.to.integers(std::span<const int64_t>()));
    return v->dtype == dtype ? x : e.to.cast(x, dtype);
  };
  const auto &start = e.attr<op::Scalar>("start"), &step = e.attr<op::Scalar>("step");
  const auto& end = e.attr<std::optional<op::Scalar>>("end");
  const std::string a = end ? scalar(start) : e.to.number(0, dtype);
  const std::string b = scalar(end ? *end : start);
  e.give(e.node("Range", {a, b, scalar(step)}));
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
    {"ones_like", filled_like<1>},
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
    {"tril", triangle<false>},
    {"triu", triangle<true>},
    {"unbind", unbind},
    {"unstack", unbind},
    {"unsqueeze", unsqueeze},
    {"zeros", filled_with<0>},
    {"zeros_like", filled_like<0>},
};

}  // namespace

std::span<const WriteRow> write_shape_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
