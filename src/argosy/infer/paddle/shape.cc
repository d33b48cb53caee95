#include "argosy/infer/paddle/common.h"

// Reshaping, joining, cutting.
namespace argosy::infer::paddle {
namespace {

constexpr int64_t kEnd = int64_t{1} << 31;  // a bound of a slice past every end

// A vector of sizes that is made of remembered numbers is remembered too.
void out_remembered(const Node& n, const Tensor& out, const op::IntArray& numbers,
                    std::string_view slot = "Out") {
  n.session.remember(out, numbers);
  n.out(slot, out);
}

void shape(const Node& n) {
  const Tensor x = n.in("Input");
  const DType dtype = n.session.graph().pir && n.op.foreign.find("64") != std::string::npos
                          ? DType::int64
                          : DType::int32;
  const Tensor out = as(call("shape", {x}), dtype);
  if (x.shape().known()) {
    const Tensor known = Tensor::empty({x.rank()}, DType::int64);
    std::ranges::copy(x.shape(), known.data<int64_t>());
    return n.out("Out", as(known, dtype));
  }
  op::IntArray numbers;
  for (int d = 0; d < x.rank(); ++d) {
    if (x.dim(d) < 0) numbers.symbols.push_back({static_cast<uint32_t>(d), ops::pick(out, 0, d)});
    numbers.values.push_back(x.dim(d));
  }
  n.session.remember(out, numbers);
  n.out("Out", Item::without_lengths(out));
}

void cast(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor out = as(x, n.dtype("out_dtype", n.dtype("dtype", x.dtype())));
  if (x.symbolic() && n.session.remembers(x)) n.session.remember(out, n.session.integers(x));
  n.out("Out", out);
}

void assign(const Node& n) {
  n.out("Out", n.item("X"));
}

void reshape(const Node& n) {
  const Tensor x = n.in("X");
  const op::IntArray to = n.numbers("shape", n.has("ShapeTensor") ? "" : "Shape", "ShapeTensor");
  n.out("XShape", Tensor());
  const Tensor out = ops::reshape(x, to);
  if (x.symbolic() && n.session.remembers(x)) n.session.remember(out, n.session.integers(x));
  n.out("Out", activate(n, out, n.text("act", "")));
}

void transpose(const Node& n) {
  const Tensor x = n.in("X");
  std::vector<int64_t> perm = n.integers("axis", n.integers("perm"));
  for (int64_t& p : perm) p = n.axis(p, x.rank());
  n.out("Out", ops::transpose(x, perm));
}

void flatten(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t axis = n.integer("axis", 1);
  Tensor out = axis == 0 ? ops::reshape(x, {1, -1}) : ops::flatten(x, axis, -1);
  if (axis == x.rank()) out = ops::reshape(x, {-1, 1});
  if (axis > 1) out = ops::flatten(out, 0, axis - 1);
  n.out("Out", out);
}

void flatten_range(const Node& n) {
  n.out("Out", ops::flatten(n.in("X"), n.integer("start_axis", 1), n.integer("stop_axis", -1)));
}

void squeeze(const Node& n) {
  const Tensor x = n.in("X");
  const std::vector<int64_t> axes = n.known_numbers("axes", "AxisTensor");
  if (axes.empty()) {
    op::IntArray all;
    for (int d = 0; d < x.rank(); ++d) {
      if (x.dim(d) < 0) n.need_sizes(x, "squeeze of sizes that only a run knows");
      if (x.dim(d) == 1) all.values.push_back(d);
    }
    return n.out("Out", all.size() ? ops::squeeze(x, all) : x);
  }
  const Tensor out = ops::squeeze(x, int_array(axes));
  if (x.symbolic() && n.session.remembers(x)) n.session.remember(out, n.session.integers(x));
  n.out("Out", out);
}

void unsqueeze(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor out =
      ops::unsqueeze(x, int_array(n.known_numbers("axes", "AxesTensor", "AxesTensorList")));
  if (x.symbolic() && n.session.remembers(x)) n.session.remember(out, n.session.integers(x));
  n.out("Out", out);
}

void concat(const Node& n) {
  std::vector<Tensor> parts = n.tensors("X");
  n.expect(!parts.empty(), "nothing to join");
  const int64_t axis = n.known_number("axis", 0, "AxisTensor");
  const Tensor out = ops::concat(parts, axis);
  if (out.symbolic() && out.rank() == 1 && is_integral(out.dtype()) && out.dim(0) >= 0 &&
      out.dim(0) <= kMaxRank &&
      std::ranges::any_of(parts, [&](const Tensor& p) { return n.session.remembers(p); })) {
    op::IntArray all;
    for (const Tensor& part : parts) {
      const op::IntArray numbers = n.session.integers(part);
      for (size_t i = 0; i < numbers.size(); ++i) push(all, numbers, i);
    }
    n.session.remember(out, all);
  }
  n.out("Out", out);
}

void stack(const Node& n) {
  std::vector<Tensor> parts = n.tensors("X");
  n.expect(!parts.empty(), "nothing to join");
  const Tensor out = ops::stack(parts, n.integer("axis", 0));
  if (out.symbolic() && out.rank() == 1 && is_integral(out.dtype()) && out.dim(0) <= kMaxRank) {
    op::IntArray all;
    for (const Tensor& part : parts) push(all, n.session.integers(part), 0);
    return out_remembered(n, out, all, "Y");
  }
  n.out("Y", out);
}

void split(const Node& n) {
  const Tensor x = n.in("X");
  const int axis = n.axis(n.known_number("axis", 0, "AxisTensor"), x.rank());
  const op::IntArray sections =
      n.numbers("sections", n.session.graph().pir ? "Sections" : "", "SectionsTensorList");
  Tensors parts;
  if (sections.size()) {
    parts = ops::split(x, sections, axis);
  } else {
    int64_t count = n.integer("num", 0);
    if (count <= 0) count = static_cast<int64_t>(n.outputs("Out"));
    n.expect(count > 0 && count <= 65536, "a tensor is cut into an impossible number of parts");
    op::IntArray sizes;
    if (x.dim(axis) >= 0) {
      n.expect(x.dim(axis) % count == 0, "a size cannot be cut into equal parts");
      for (int64_t i = 0; i < count; ++i) sizes.values.push_back(x.dim(axis) / count);
    } else {
      const Tensor whole = ops::size_of(x, axis, DType::int64);
      const Tensor part =
          call("floor_divide", {whole, ops::constant(op::Scalar(count), DType::int64)});
      for (int64_t i = 0; i < count; ++i) {
        sizes.symbols.push_back({static_cast<uint32_t>(i), part});
        sizes.values.push_back(kUnknown);
      }
    }
    parts = ops::split(x, sizes, axis);
  }
  n.out_list("Out", {parts.begin(), parts.size()});
}

void unstack(const Node& n) {
  const Tensor x = n.in("X");
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  if (x.dim(axis) < 0) n.need_sizes(x, "taking a tensor apart along a size that only a run knows");
  const Tensors parts = call_all("unbind", {x}, {{"axis", axis}});
  const std::span<const Tensor> list(parts.begin(), parts.size());
  n.out_list("Y", list);
  n.out_list("Out", list);
}

void slice(const Node& n) {
  const Item whole = n.item("Input");
  const Tensor x = n.in("Input");
  if (x.layout() == Layout::tensor_array) return slice_array(n);
  const std::vector<int64_t> axes = n.integers("axes");
  op::IntArray starts = n.numbers("starts", "StartsTensor", "StartsTensorList");
  op::IntArray ends = n.numbers("ends", "EndsTensor", "EndsTensorList");
  std::vector<int64_t> strides = n.known_numbers("strides", "StridesTensor", "StridesTensorList");
  if (strides.empty()) strides.assign(axes.size(), 1);
  const std::vector<int64_t> gone = n.integers("decrease_axis");
  n.expect(
      starts.size() == axes.size() && ends.size() == axes.size() && strides.size() == axes.size(),
      "axes, starts and ends are of different lengths");
  for (size_t i = 0; i < axes.size(); ++i) {
    // [-1:0] with the axis gone is the last element.
    const bool last = std::ranges::find(gone, axes[i]) != gone.end() && starts[i] == -1 &&
                      ends[i] == 0 && starts.symbols.empty() && ends.symbols.empty();
    if (last) ends.values[i] = kEnd;
  }
  Tensor out = call("slice", {x},
                    {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"strides", strides}});
  if (!gone.empty()) {
    // Where a run decides both bounds, that there is one element is only known here.
    op::IntArray shape;
    std::vector<int64_t> dims = gone;
    for (int64_t& d : dims) d = n.axis(d, x.rank());
    for (int d = 0; d < out.rank(); ++d)
      if (std::ranges::find(dims, d) == dims.end()) ops::push_size(shape, out, d);
    const bool keeps_one = !n.session.graph().pir && shape.size() == 0 && n.declared("Out") &&
                           n.declared("Out")->shape.rank() == 1;
    if (keeps_one) shape.values.push_back(1);
    out = ops::reshape(out, shape);
  }
  if (x.symbolic() && n.session.remembers(x) && x.rank() == 1 && axes.size() == 1 &&
      starts.symbols.empty() && ends.symbols.empty()) {
    const op::IntArray numbers = n.session.integers(x);
    const auto size = static_cast<int64_t>(numbers.size());
    const auto bound = [&](int64_t v) {
      return std::clamp(v < 0 ? v + size : v, int64_t{0}, size);
    };
    op::IntArray kept;
    if (strides[0] > 0)
      for (int64_t i = bound(starts[0]); i < bound(ends[0]); i += strides[0])
        push(kept, numbers, static_cast<size_t>(i));
    if (strides[0] > 0 && static_cast<int64_t>(kept.size()) == (out.rank() ? out.dim(0) : 1))
      n.session.remember(out, kept);
  }
  n.out("Out", out);
}

void set_value(const Node& n) {
  const Tensor x = n.in("Input");
  const std::vector<int64_t> axes = n.integers("axes");
  const op::IntArray starts = n.numbers("starts", "StartsTensor", "StartsTensorList");
  const op::IntArray ends = n.numbers("ends", "EndsTensor", "EndsTensorList");
  std::vector<int64_t> steps = n.known_numbers("steps", "StepsTensor", "StepsTensorList");
  if (steps.empty()) steps.assign(axes.size(), 1);
  Tensor value;
  if (n.has("ValueTensor")) {
    value = n.in("ValueTensor");
  } else {
    std::vector<double> all;
    for (const char* name :
         {"values", "fp32_values", "fp64_values", "int32_values", "int64_values", "bool_values"})
      if (all.empty() && n.has_attribute(name)) all = n.reals(name);
    value = Tensor::empty({static_cast<int64_t>(all.size())}, DType::float64);
    std::ranges::copy(all, value.data<double>());
    value = ops::reshape(value, int_array(n.integers("shape", {static_cast<int64_t>(all.size())})));
  }
  const std::vector<int64_t> new_axes = n.integers("none_axes");
  if (!new_axes.empty()) n.unsupported("set_value with new axes");
  n.out("Out", call("set_slice", {x, as(value, x.dtype())},
                    {{"axes", axes},
                     {"starts", starts},
                     {"ends", ends},
                     {"strides", steps},
                     {"decrease_axis", n.integers("decrease_axes")}}));
}

void expand(const Node& n) {
  const Tensor x = n.in("X");
  const op::IntArray to = n.numbers("shape", "Shape", "expand_shapes_tensor");
  if (!x.symbolic()) check_folded(n, to);
  n.out("Out", ops::expand(x, to));
}

void expand_as(const Node& n) {
  const Tensor x = n.in("X");
  const char* slot = n.has("Y") ? "Y" : "target_tensor";
  if (n.has(slot)) return n.out("Out", ops::expand(x, sizes_of(n.in(slot))));
  n.out("Out", ops::expand(x, int_array(n.integers("target_shape"))));
}

// All of the shape that they have together.
void broadcast_tensors(const Node& n) {
  std::vector<Tensor> all = n.tensors("X");
  Tensor form;
  for (const Tensor& t : all) {
    const Tensor of = call("zeros_like", {t}, {{"dtype", DType::bool_}});
    form = form.defined() ? call("logical_or", {form, of}) : of;
  }
  for (Tensor& t : all) t = ops::expand_like(t, form);
  n.out_list("Out", all);
}

void repeat(const Node& n, const op::IntArray& times) {
  const Tensor x = n.in("X");
  if (!x.symbolic()) {
    op::IntArray size = times;
    size.values.push_back(x.numel());
    check_folded(n, size);
  }
  n.out("Out", call("tile", {x}, {{"repeat_times", times}}));
}
void tile(const Node& n) {
  repeat(n, n.numbers("repeat_times", "RepeatTimes", "repeat_times_tensor"));
}
// Before 2.0 "expand" repeated.
void expand_times(const Node& n) {
  repeat(n, n.numbers("expand_times", "ExpandTimes", "expand_times_tensor"));
}

void flip(const Node& n) {
  n.out("Out", call("flip", {n.in("X")}, {{"axis", n.numbers("axis", "AxisTensor")}}));
}

void roll(const Node& n) {
  const std::vector<int64_t> axis = n.integers("axis");
  n.out("Out", call("roll", {n.in("X")},
                    {{"shifts", n.numbers("shifts", "ShiftsTensor")},
                     {"axis", axis.empty() ? op::IntArray::all() : int_array(axis)}}));
}

void tril_triu(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t diagonal = n.integer("diagonal", 0);
  n.out("Out", n.flag("lower", true) ? ops::tril(x, diagonal) : ops::triu(x, diagonal));
}

void diagonal(const Node& n) {
  n.out("Out", call("diagonal", {n.in("Input")},
                    {{"offset", n.integer("offset", 0)},
                     {"axis1", n.integer("axis1", 0)},
                     {"axis2", n.integer("axis2", 1)}}));
}

void triu(const Node& n) {
  n.out("Out", ops::triu(n.in("X"), n.integer("diagonal", 0)));
}

void meshgrid(const Node& n) {
  const std::vector<Tensor> all = n.tensors("X");
  const auto rank = static_cast<int>(all.size());
  op::IntArray shape;
  for (const Tensor& t : all) {
    const Tensor line = t.rank() == 0 ? ops::reshape(t, {1}) : t;
    push(shape, ops::size_along(line, 0), 0);
  }
  std::vector<Tensor> grids;
  for (int i = 0; i < rank; ++i)
    grids.push_back(
        ops::expand(stand_at(ops::reshape(all[static_cast<size_t>(i)], {-1}), i, rank), shape));
  n.out_list("Out", grids);
}

void numel(const Node& n) {
  n.out("Out", Item::without_lengths(ops::numel_of(n.in("Input"))));
}

void diag_embed(const Node& n) {
  n.out("Out", call("diag_embed", {n.in("Input")},
                    {{"offset", n.integer("offset", 0)},
                     {"dim1", n.integer("dim1", -2)},
                     {"dim2", n.integer("dim2", -1)}}));
}

// A vector as the diagonal of a matrix, or the diagonal of one.
void diag(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t offset = n.integer("offset", 0);
  if (x.rank() == 2) return n.out("Out", call("diagonal", {x}, {{"offset", offset}}));
  n.expect(x.rank() <= 1, "a vector or a matrix is expected");
  const Tensor line = x.rank() == 0 ? ops::reshape(x, {1}) : x;
  const Tensor out = call("diag_embed", {line}, {{"offset", offset}});
  const double beside = n.real("padding_value", 0);
  if (beside == 0) return n.out("Out", out);
  const Tensor on = call("diag_embed", {ops::ones_like(line)}, {{"offset", offset}});
  n.out("Out", ops::where(ops::not_equal(on, number(0, on)), out, number(beside, out)));
}

// The diagonal of a matrix, or of all dimensions, becomes one number.
void fill_diagonal(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t offset = n.integer("offset", 0);
  n.expect(x.rank() >= 2, "a matrix has two dimensions or more");
  if (x.rank() == 2 && !n.flag("wrap")) {
    const Tensor line = call("diagonal", {x}, {{"offset", offset}});
    const Tensor values = ops::full_like(line, op::Scalar(n.real("value", 0)));
    return n.out("Out", call("diagonal_scatter", {x, values}, {{"offset", offset}}));
  }
  // Every `step`-th element of all.
  int64_t step = 1, stride = 1;
  for (int d = x.rank() - 1; d > 0; --d) {
    if (x.dim(d) < 0) n.unsupported("a diagonal of unknown length");
    stride *= x.dim(d);
    step += stride;
  }
  if (x.dim(0) < 0) n.unsupported("a diagonal of unknown length");
  const int64_t columns = x.dim(-1);
  const int64_t end =
      x.rank() == 2 && n.flag("wrap") ? x.numel() : std::min(x.numel(), columns * columns);
  const Tensor flat = ops::reshape(x, {-1});
  const Tensor filled = call("set_slice", {flat, number(n.real("value", 0), x)},
                             {{"axes", std::vector<int64_t>{0}},
                              {"starts", op::IntArray{std::max<int64_t>(offset, 0)}},
                              {"ends", op::IntArray{x.rank() == 2 ? end : x.numel()}},
                              {"strides", std::vector<int64_t>{step}}});
  n.out("Out", ops::reshape(filled, sizes_of(x)));
}

// `shape` elements from `offsets` on; -1 is all that is left.
void crop(const Node& n) {
  const Tensor x = n.in("X");
  const op::IntArray shape = n.numbers("shape", "Shape", "ShapeTensor");
  const op::IntArray offsets = n.numbers("offsets", "Offsets", "OffsetsTensor");
  n.expect(static_cast<int>(shape.size()) == x.rank() && offsets.size() == shape.size(),
           "shape and offsets are of another number of dimensions");
  for (const op::IntArray* numbers : {&shape, &offsets})
    if (!numbers->symbols.empty())
      n.need_value(numbers->symbols.front().value, "crop of sizes that only a run knows");
  Tensor out = x;
  for (int d = 0; d < x.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t size = shape[i], from = offsets[i];
    n.expect(from >= 0, "an offset is negative");
    out = ops::slice(out, d, from, size < 0 ? kEnd : from + size);
  }
  n.out("Out", out);
}

void is_empty(const Node& n) {
  n.out("Out", ops::equal(ops::numel_of(n.in("X")), ops::constant(int64_t{0}, DType::int64)));
}

void view_shape(const Node& n) {
  n.out("out", ops::reshape(n.in("input"), int_array(n.integers("dims"))));
}

// Nothing happens.
void nothing(const Node&) {}

// --- of `.json` files ---

void combine(const Node& n) {
  n.out("Out", Item::list(n.tensors("X")));
}

void uncombine(const Node& n) {
  const std::vector<Tensor> all = n.tensors("X");
  n.expect(all.size() >= n.outputs("Out"), "a list has too few tensors");
  for (size_t i = 0; i < n.outputs("Out"); ++i) n.out("Out", all[i], i);
}

void element(const Node& n) {
  const std::vector<Tensor> all = n.tensors("X");
  const auto i = static_cast<size_t>(n.integer("index", 0));
  n.expect(i < all.size(), "a list has too few tensors");
  n.out("Out", all[i]);
}

constexpr Row kRows[] = {
    {"shape", shape},
    {"cast", cast},
    {"assign", assign},
    {"share_data", assign},
    {"memcpy", assign},
    {"memcpy_d2h", assign},
    {"memcpy_h2d", assign},
    {"share_buffer", assign},
    {"reshape", reshape},
    {"reshape2", reshape},
    {"transpose", transpose},
    {"transpose2", transpose},
    {"flatten", flatten},
    {"flatten2", flatten},
    {"flatten_contiguous_range", flatten_range},
    {"squeeze", squeeze},
    {"squeeze2", squeeze},
    {"unsqueeze", unsqueeze},
    {"unsqueeze2", unsqueeze},
    {"concat", concat},
    {"stack", stack},
    {"split", split},
    {"unstack", unstack},
    {"unbind", unstack},
    {"slice", slice},
    {"strided_slice", slice},
    {"set_value", set_value},
    {"expand_v2", expand},
    {"expand_as", expand_as},
    {"expand_as_v2", expand_as},
    {"tile", tile},
    {"expand", expand_times},
    {"flip", flip},
    {"reverse", flip},
    {"roll", roll},
    {"tril_triu", tril_triu},
    {"triu", triu},
    {"broadcast_tensors", broadcast_tensors},
    {"meshgrid", meshgrid},
    {"size", numel},
    {"diag_embed", diag_embed},
    {"diagonal", diagonal},
    {"diag_v2", diag},
    {"fill_diagonal", fill_diagonal},
    {"crop_tensor", crop},
    {"is_empty", is_empty},
    {"view_shape", view_shape},
    {"nop", nothing},
    {"combine", combine},
    {"uncombine", uncombine},
    {"element", element},
};

}  // namespace

std::span<const Row> shape_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
