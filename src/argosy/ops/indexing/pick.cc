#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/gather.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/indexing/called.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/search/search.h"

// gather, scatter, where and their kin: mostly compositions of index_get and index_put.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

struct AxisAttrs {
  op::IntArray axis = op::IntArray::one(0);
};
ARGOSY_ATTRS(AxisAttrs, axis)

int axis_of(const char* op, const AxisAttrs& a, int rank) {
  ARGOSY_CHECK(a.axis.symbols.empty(), not_implemented)
      << '[' << op << "] axis is a value of the Program, which only a run knows. Do this: give an "
      << "int.";
  ARGOSY_CHECK(a.axis.none || a.axis.size() <= 1, attribute)
      << '[' << op << "] axis: expected an int, got " << Shape(a.axis.values)
      << ". Do this: take one"
      << " axis after the other.";
  return normalize_axis(op, a.axis.none || !a.axis.size() ? 0 : a.axis[0], rank, ErrorKind::index);
}

Shape replaced(const Shape& x, int axis, const Shape& index) {
  Shape out;
  for (int i = 0; i < axis; ++i) out.push_back(x[i]);
  for (int64_t n : index) out.push_back(n);
  for (int i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

// --- gather, index_select ---

// An index may be a column.
void index_check(const char* op, const Tensor& index) {
  ARGOSY_CHECK(index.rank() <= 1 || (index.rank() == 2 && (index.dim(1) == 1 || index.dim(1) < 0)),
               invalid_argument)
      << '[' << op << "] index must have 1 dimension, got " << index
      << ". Do this: flatten it, or use gather_nd.";
}
Tensor as_list(const Tensor& index) {
  return index.rank() == 2 ? flatten(index, 0, 1) : index;
}

void gather_infer(InferContext& c, const AxisAttrs& a) {
  index_check(c.name(), c.in[1]);
  const Shape &x = c.in[0].shape(), &index = c.in[1].shape();
  const int axis = axis_of(c.name(), a, x.rank());
  c.out[0].shape = replaced(x, axis, index.rank() == 2 ? Shape{index[0]} : index);
}
Tensors gather_compose(const op::Inputs& in, const AxisAttrs& a) {
  int axis = axis_of("gather", a, in[0].rank());
  return take_slices(in[0], as_list(in[1]), axis);
}

ARGOSY_OP(gather, AxisAttrs)
    .python("gather(x, index, axis=None, name=None, out=None)")
    .method("gather")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "The entries of x along axis (0 without it) that the integer tensor index [n] or [n, 1] "
        "names; "
        "an index without dimensions leaves axis out.")
    .shape(
        "x [*a,n@axis,*b], index [k] -> [*a,k,*b] | x [*a,n@axis,*b], index [] -> [*s'] | x "
        "[*a,n@axis,*b], index [k,1] -> [*a,k,*b]")
    .example(R"(>>> argosy.gather(argosy.to_tensor([10, 20, 30]), argosy.to_tensor([2, 0])).tolist()
[30, 10])")
    .input("x")
    .input("index", kIntegral)
    .output("out")
    .infer(gather_infer)
    .compose(gather_compose)
    .done();

void index_select_infer(InferContext& c, const AxisAttrs& a) {
  index_check(c.name(), c.in[1]);
  const Shape &x = c.in[0].shape(), &index = c.in[1].shape();
  c.out[0].shape = replaced(x, axis_of(c.name(), a, x.rank()), {index.rank() ? index[0] : 1});
}
Tensors index_select_compose(const op::Inputs& in, const AxisAttrs& a) {
  int axis = axis_of("index_select", a, in[0].rank());
  const Tensor index = in[1].rank() == 0 ? unsqueeze(in[1], {0}) : as_list(in[1]);
  return take_slices(in[0], index, axis);
}

ARGOSY_OP(index_select, AxisAttrs)
    .python("index_select(x, index, axis=0, name=None, *, out=None)")
    .method("index_select")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The entries of x along axis that the integer tensor index [n] or [n, 1] names.")
    .shape("x [*a,n@axis,*b], index [k] -> [*a,k,*b] | x [*a,n@axis,*b], index [k,1] -> [*a,k,*b]")
    .example(
        R"(>>> argosy.index_select(argosy.to_tensor([[1, 2], [3, 4]]), argosy.to_tensor([1]), axis=1).tolist()
[[2], [4]])")
    .input("x")
    .input("index", kIntegral)
    .output("out")
    .infer(index_select_infer)
    .compose(index_select_compose)
    .done();

// --- gather_nd, scatter_nd_add ---

// The columns of index [.., k] as k index tensors.
InlineVector<Tensor, 4> columns(const char* op, const Tensor& index, const Shape& x) {
  ARGOSY_CHECK(index.rank() >= 1 && index.shape().back() >= 0 && index.shape().back() <= x.rank(),
               invalid_argument)
      << '[' << op << "] the last size of index is the number of dimensions it names: expected at "
      << "most " << x.rank() << ", got index " << index << " for a tensor of shape " << x
      << ". Do this: put the coordinates of one element or slice into the last dimension.";
  InlineVector<Tensor, 4> out;
  for (int64_t k = 0; k < index.shape().back(); ++k) out.push_back(pick(index, -1, k));
  return out;
}
std::vector<int64_t> first_axes(size_t n) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

void gather_nd_infer(InferContext& c, const NoAttrs&) {
  const Shape &x = c.in[0].shape(), &index = c.in[1].shape();
  int64_t k = index.rank() ? index.back() : -1;
  ARGOSY_CHECK(k >= 0 && k <= x.rank(), invalid_argument)
      << "[gather_nd] the last size of index is the number of dimensions it names: expected at "
      << "most " << x.rank() << ", got index of shape " << index
      << ". Do this: put the coordinates of one element or slice into the last dimension.";
  Shape out;
  for (int i = 0; i + 1 < index.rank(); ++i) out.push_back(index[i]);
  for (int i = static_cast<int>(k); i < x.rank(); ++i) out.push_back(x[i]);
  c.out[0].shape = out;
}
Tensors gather_nd_compose(const op::Inputs& in, const NoAttrs&) {
  auto index = columns("gather_nd", in[1], in[0].shape());
  if (index.empty()) {
    op::IntArray shape;
    for (int i = 0; i + 1 < in[1].rank(); ++i) push_size(shape, in[1], i);
    for (int i = 0; i < in[0].rank(); ++i) push_size(shape, in[0], i);
    return expand(in[0], shape);
  }
  return index_get(in[0], index, first_axes(index.size()));
}

ARGOSY_OP(gather_nd, NoAttrs)
    .python("gather_nd(x, index, name=None)")
    .method("gather_nd")
    .alias("input", "x")
    .doc(
        "x[index[.., 0], index[.., 1], ..]: the last dimension of index names places along the "
        "first dimensions of x.")
    .shape("x [*s], index [*i,d] -> [*s']")
    .example(
        R"(>>> argosy.gather_nd(argosy.to_tensor([[1, 2], [3, 4]]), argosy.to_tensor([[0, 1], [1, 0]])).tolist()
[2, 3])")
    .input("x")
    .input("index", kIndex)
    .output("out")
    .infer(gather_nd_infer)
    .compose(gather_nd_compose)
    .done();

Tensors scatter_nd_add_compose(const op::Inputs& in, const NoAttrs&) {
  auto index = columns("scatter_nd_add", in[1], in[0].shape());
  if (index.empty()) {
    return add(in[0], sum_like(in[2], in[0]));
  }
  return index_put(in[0], in[2], index, first_axes(index.size()), true);
}

ARGOSY_OP(scatter_nd_add, NoAttrs)
    .python("scatter_nd_add(x, index, updates, name=None)")
    .method("scatter_nd_add")
    .doc(
        "A copy of x with updates added at x[index[.., 0], index[.., 1], ..]; places named twice "
        "get both.")
    .shape("x [*s], index [*i,d], updates [*u] -> [*s]")
    .example(
        R"(>>> argosy.scatter_nd_add(argosy.zeros([3]), argosy.to_tensor([[1], [1]]), argosy.to_tensor([5.0, 6.0])).tolist()
[0.0, 11.0, 0.0])")
    .input("x", kNumeric)
    .input("index", kIndex)
    .input("updates", kNumeric)
    .output("out")
    .compose(scatter_nd_add_compose)
    .done();

// --- scatter: rows ---

struct ScatterAttrs {
  bool overwrite = true;
};
ARGOSY_ATTRS(ScatterAttrs, overwrite)

Tensors scatter_compose(const op::Inputs& in, const ScatterAttrs& a) {
  Tensor index = in[1];
  ARGOSY_CHECK(index.rank() <= 1 || (index.rank() == 2 && (index.dim(1) == 1 || index.dim(1) < 0)),
               invalid_argument)
      << "[scatter] index must have 1 dimension, got " << index
      << ". Do this: flatten it, or use scatter_nd or put_along_axis.";
  if (index.rank() == 2) index = squeeze(index, op::IntArray::one(1));
  const Tensor list[] = {index};
  if (a.overwrite) return index_put(in[0], in[2], list, {0}, false);
  Tensor cleared = index_put(in[0], constant(0, in[0].dtype(), in[0].place()), list, {0}, false);
  return index_put(cleared, in[2], list, {0}, true);
}

ARGOSY_OP(scatter, ScatterAttrs)
    .python("scatter(x, index, updates, overwrite=True, name=None, out=None)")
    .method("scatter")
    .inplace("scatter_")
    .doc(
        "A copy of x with rows index[i] replaced by updates[i]; with overwrite=False those rows "
        "become the sum of their updates.")
    .shape(
        "x [n,*s], index [k], updates [k,*s] -> [n,*s] | x [n,*s], index [k,1], updates [k,*s] -> "
        "[n,*s] | x [n,*s], index [], updates [*s] -> [n,*s]")
    .example(
        R"(>>> argosy.scatter(argosy.zeros([3, 1]), argosy.to_tensor([2, 0]), argosy.to_tensor([[5.0], [6.0]])).tolist()
[[6.0], [0.0], [5.0]])")
    .input("x", kNumeric)
    .input("index", kIndex)
    .input("updates", kNumeric)
    .output("out")
    .compose(scatter_compose)
    .amp(op::Amp::full)
    .done();

// --- along an axis, element by element ---

// Calls fn(place in indices, offset in x) for each element of a contiguous index tensor.
template <class F>
void walk(const char* op, const Tensor& x, const Tensor& indices, int axis, F&& fn) {
  Tensor wide = Tensor::empty(indices.shape(), DType::int64);
  op::copy_into(wide, indices);
  const int64_t* index = wide.data<int64_t>();
  Shape at = Shape::filled(indices.rank(), 0);
  int64_t base = 0, size = x.dim(axis), step = x.strides()[axis];
  for (int64_t i = 0; i < indices.numel(); ++i) {
    int64_t v = index[i];
    ARGOSY_CHECK(v >= -size && v < size, index)
        << '[' << called_name(op) << "] index " << v << " is out of range for dimension " << axis
        << " of size " << size << ". Do this: check the index; negative ones count from the end.";
    fn(i, base + (v < 0 ? v + size : v) * step);
    for (int d = indices.rank() - 1; d >= 0; --d) {
      int64_t stride = d == axis ? 0 : x.strides()[d];
      base += stride;
      if (++at[d] < indices.dim(d)) break;
      base -= stride * indices.dim(d);
      at[d] = 0;
    }
  }
}

void check_along(const char* op, const Tensor& x, const Tensor& indices, int axis) {
  bool fits = x.rank() == indices.rank();
  for (int d = 0; fits && d < x.rank(); ++d)
    fits = d == axis || indices.dim(d) <= x.dim(d) || x.dim(d) < 0;
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op << "] indices must have x's number of dimensions and, but for axis " << axis
      << ", sizes no larger than x's: x is " << x << ", indices are " << indices
      << ". Do this: broadcast or slice indices, or pass broadcast=True.";
}

void take_infer(InferContext& c, const AlongAttrs& a) {
  check_along(c.name(), c.in[0], c.in[1], normalize_axis(c.name(), a.axis, c.in[0].rank()));
  c.out[0].shape = c.in[1].shape();
}
// x and indices as [outer, size, inner] and [outer, m, inner] around an axis, where they fit so.
struct Along {
  int64_t outer = 1, size, m, inner = 1;
  bool fits = true;
};
Along along(const Tensor& x, const Tensor& indices, int axis) {
  Along l;
  if (x.rank() == 0) return {1, 1, 1, 1, true};
  for (int d = 0; d < x.rank(); ++d) {
    if (d == axis) continue;
    l.fits &= x.dim(d) == indices.dim(d);
    (d < axis ? l.outer : l.inner) *= x.dim(d);
  }
  l.size = x.dim(axis);
  l.m = indices.dim(axis);
  return l;
}

Tensor wide_index(const Tensor& index) {
  if (index.dtype() == DType::int64 && index.is_contiguous()) return index;
  Tensor wide = Tensor::empty(index.shape(), DType::int64);
  op::copy_into(wide, index);
  return wide;
}

void check_found(const char* op, int64_t bad, const Tensor& wide, int axis, int64_t size) {
  ARGOSY_CHECK(bad < 0, index) << '[' << called_name(op) << "] index " << wide.data<int64_t>()[bad]
                               << " is out of range for dimension " << axis << " of size " << size
                               << ". Do this: check the index; negative ones count from the end.";
}

void take_run(KernelFrame& f, const AlongAttrs& a) {
  const Tensor& x = f.in[0];
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  const int item = item_size(x.dtype());
  if (const Along l = along(x, f.in[1], axis); l.fits) {
    Tensor index = wide_index(f.in[1]);
    const int64_t bad = cpu::take_along(f.out[0].raw(), x.raw(), index.data<int64_t>(), l.outer,
                                        l.size, l.m, l.inner, item);
    return check_found(f.name(), bad, index, axis, l.size);
  }
  char* to = static_cast<char*>(f.out[0].raw());
  const char* from = static_cast<const char*>(x.raw());
  walk(f.name(), x, f.in[1], axis, [&](int64_t i, int64_t offset) {
    std::memcpy(to + i * item, from + offset * item, static_cast<size_t>(item));
  });
}

void put_infer(InferContext& c, const PutAlongAttrs& a) {
  check_along(c.name(), c.in[0], c.in[1], normalize_axis(c.name(), a.axis, c.in[0].rank()));
}

constexpr DTypes kCombined =
    only(DType::int32) | only(DType::int64) | only(DType::float32) | only(DType::float64);

// Nothing for assignment.
std::optional<cpu::Combine> combine_of(const std::string& reduce) {
  if (reduce == "add" || reduce == "sum" || reduce == "mean") return cpu::Combine::add;
  if (reduce == "mul" || reduce == "multiply" || reduce == "prod") return cpu::Combine::multiply;
  if (reduce == "amax") return cpu::Combine::max;
  if (reduce == "amin") return cpu::Combine::min;
  ARGOSY_CHECK(reduce == "assign", invalid_argument)
      << "[put_along_axis] reduce must be one of assign, add, mul, multiply, mean, amin, amax, got "
         "'"
      << reduce << "'. Do this: pass one of these.";
  return std::nullopt;
}

// One element after the other: for indices with fewer elements than out along other axes, and
// complex.
void put_each(const char* op, const Tensor& out, const Tensor& indices, Tensor values, int axis,
              std::optional<cpu::Combine> how, std::vector<int32_t>& count) {
  const int64_t item = item_size(out.dtype());
  if (values.numel() == 1 && indices.numel() != 1) {
    Tensor each = Tensor::empty(indices.shape(), out.dtype());
    op::copy_into(each, values);
    values = each;
  }
  char* to = static_cast<char*>(out.raw());
  char* from = static_cast<char*>(values.raw());
  cpu::Loop loop = nullptr;
  if (how == cpu::Combine::add) loop = cpu::add_loops()[out.dtype()];
  if (how == cpu::Combine::multiply) loop = cpu::multiply_loops()[out.dtype()];
  if (how == cpu::Combine::max) loop = cpu::maximum_loops()[out.dtype()];
  if (how == cpu::Combine::min) loop = cpu::minimum_loops()[out.dtype()];
  const int64_t steps[] = {item, item, item};
  walk(op, out, indices, axis, [&](int64_t i, int64_t offset) {
    char* place = to + offset * item;
    bool first = count[static_cast<size_t>(offset)]++ == 0;
    if (!loop || first) {
      std::memcpy(place, from + i * item, static_cast<size_t>(item));
      return;
    }
    char* const ptrs[] = {place, from + i * item, place};
    loop(ptrs, steps, 1, nullptr);
  });
}

void put_run(KernelFrame& f, const PutAlongAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0], &indices = f.in[1];
  int axis = normalize_axis(f.name(), a.axis, x.rank());
  op::copy_into(out, x);
  const int64_t item = item_size(out.dtype());
  Tensor values = f.in[2];
  const bool one = values.numel() == 1 && values.dtype() == out.dtype();
  if (!one && (values.dtype() != out.dtype() || !(values.shape() == indices.shape()))) {
    values = Tensor::empty(indices.shape(), out.dtype());
    op::copy_into(values, f.in[2]);
  }
  const std::optional<cpu::Combine> how = combine_of(a.reduce);
  const bool adds = how == cpu::Combine::add && a.reduce != "mean" && a.include_self;
  const Along l = along(x, indices, axis);
  if (l.fits && (adds || !how)) {
    Tensor index = wide_index(indices);
    const int64_t step = one ? 0 : 1, *at = index.data<int64_t>();
    const int64_t bad = adds ? cpu::add_along(out.dtype(), out.raw(), at, values.raw(), step,
                                              l.outer, l.size, l.m, l.inner)
                             : cpu::put_along(out.raw(), at, values.raw(), step, l.outer, l.size,
                                              l.m, l.inner, item);
    return check_found(f.name(), bad, index, axis, l.size);
  }
  // Of how many values an element is made, where that matters.
  std::vector<int32_t> count;
  const bool fast = l.fits && kCombined.has(out.dtype());
  if (!fast || !a.include_self || a.reduce == "mean")
    count.assign(static_cast<size_t>(out.numel()), a.include_self ? 1 : 0);
  if (fast) {
    Tensor index = wide_index(indices);
    check_found(f.name(),
                cpu::combine_along(out.dtype(), *how, out.raw(),
                                   count.empty() ? nullptr : count.data(), index.data<int64_t>(),
                                   values.raw(), one ? 0 : 1, l.outer, l.size, l.m, l.inner),
                index, axis, l.size);
  } else {
    put_each(f.name(), out, indices, values, axis, how, count);
  }
  if (a.reduce != "mean") return;
  dispatch_real(out.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < out.numel(); ++i)
      if (int32_t n = count[static_cast<size_t>(i)]; n > 1)
        out.data<T>()[i] = static_cast<T>(out.data<T>()[i] / static_cast<T>(n));
  });
}

// Whether an element of indices is the last that names its place.
void last_infer(InferContext& c, const AlongAttrs& a) {
  check_along(c.name(), c.in[0], c.in[1], normalize_axis(c.name(), a.axis, c.in[0].rank()));
  c.out[0] = {c.in[1].shape(), DType::bool_};
}
void last_run(KernelFrame& f, const AlongAttrs& a) {
  const Tensor &x = f.in[0], &indices = f.in[1];
  Tensor form = Tensor::empty(x.shape(), DType::int64);
  std::vector<int64_t> place(static_cast<size_t>(indices.numel()));
  int64_t* last = form.data<int64_t>();
  walk(f.name(), form, indices, normalize_axis(f.name(), a.axis, x.rank()),
       [&](int64_t i, int64_t offset) {
         place[static_cast<size_t>(i)] = offset;
         last[offset] = i;
       });
  for (size_t i = 0; i < place.size(); ++i)
    f.out[0].data<bool>()[i] = last[place[i]] == static_cast<int64_t>(i);
}

ARGOSY_OP(last_along, AlongAttrs)
    .doc("Whether no later element of indices names the same place of x along axis.")
    .input("x")
    .shape_only()
    .input("indices", kIndex)
    .index_output("out")
    .infer(last_infer)
    .kernel("walk", last_run)
    .done();

Tensors put_grad(const GradCall& c, const PutAlongAttrs& a);
Tensors combine_grad(const GradCall& c, const PutAlongAttrs& a);
Tensors take_grad(const GradCall& c, const AlongAttrs& a);

ARGOSY_OP(put_along, PutAlongAttrs)
    .doc(
        "A copy of x with values (broadcast to indices) put or added at x[.., indices[..], ..] "
        "along axis.")
    .input("x", kNumeric, Save::shape)
    .input("indices", kIndex, Save::value)
    .input("values", kNumeric, Save::shape)
    .output("out")
    .infer(put_infer)
    .kernel("scatter", put_run)
    .gradient(put_grad)
    .done();

ARGOSY_OP(combine_along, PutAlongAttrs)
    .doc(
        "A copy of x combined by `reduce` (mul, mean, amin, amax) with values (broadcast to "
        "indices) at x[.., indices[..], ..] along axis. Of equal extremes each has an even share "
        "of the gradient.")
    .input("x", kNumeric, Save::value)
    .input("indices", kIndex, Save::value)
    .input("values", kNumeric, Save::value)
    .output("out", Save::value)
    .infer(put_infer)
    .kernel("scatter", put_run)
    .gradient(combine_grad)
    .done();

ARGOSY_OP(take_along, AlongAttrs)
    .doc("x[.., indices[..], ..] along axis, element by element; has the shape of indices.")
    .shape("x [*s], indices [*t] -> [*s']")
    .input("x", kAny, Save::shape)
    .input("indices", kIndex, Save::value)
    .output("out")
    .infer(take_infer)
    .kernel("gather", take_run)
    .gradient(take_grad)
    .done();

Tensors take_grad(const GradCall& c, const AlongAttrs& a) {
  return {put_along_op(zeros_like(c.in[0]), c.in[1], c.dy(), PutAlongAttrs{a.axis, "add", true}),
          Tensor()};
}

Tensors put_grad(const GradCall& c, const PutAlongAttrs& a) {
  bool adds = a.reduce == "add" || a.reduce == "sum";
  ARGOSY_CHECK(adds || a.reduce == "assign", not_implemented)
      << "[put_along] has a gradient for reduce='assign' and 'add' only, got '" << a.reduce
      << "'. Do this: use combine_along.";
  Tensor dx, dv;
  if (c.needs(0)) {
    dx = adds && a.include_self
             ? c.dy()
             : put_along_op(c.dy(), c.in[1], constant(0, c.dy().dtype(), c.dy().place()),
                            PutAlongAttrs{a.axis, "assign", true});
  }
  if (c.needs(2)) {
    dv = take_along_op(c.dy(), c.in[1], AlongAttrs{a.axis});
    // What another value was written over has no gradient.
    if (!adds) dv = where(last_along_op(c.in[0], c.in[1], AlongAttrs{a.axis}), dv, zeros_like(dv));
    dv = sum_like(dv, c.in[2]);
  }
  return {dx, Tensor(), dv};
}

Tensors combine_grad(const GradCall& c, const PutAlongAttrs& a) {
  const Tensor &x = c.in[0], &at = c.in[1], &y = c.out(0), &dy = c.dy();
  auto number = [&](double v) { return constant(v, dy.dtype(), dy.place()); };
  auto ones_where = [&](const Tensor& mask) { return cast(mask, dy.dtype()); };
  auto taken = [&](const Tensor& t) { return take_along_op(t, at, AlongAttrs{a.axis}); };
  auto put = [&](const Tensor& to, const Tensor& values, const char* how) {
    return put_along_op(to, at, values, PutAlongAttrs{a.axis, how, true});
  };
  // The values, one for each index; what stands at their places counts if include_self says so.
  const Tensor v = expand_like(cast(c.in[2], dy.dtype()), at);
  const Tensor counts = a.include_self ? Tensor() : put(full_like(dy, 1), number(0), "assign");
  auto own = [&](const Tensor& t) { return counts.defined() ? multiply(t, counts) : t; };
  auto kept = [&](const Tensor& t) { return counts.defined() ? put(t, number(0), "assign") : t; };
  Tensor dx, dv;
  if (a.reduce == "mean") {
    // Places that nothing names count one.
    Tensor n = put(kept(full_like(dy, 1)), number(1), "add");
    Tensor share = divide(dy, maximum(n, full_like(n, 1)));
    dx = own(share);
    dv = taken(share);
  } else if (a.reduce == "amin" || a.reduce == "amax") {
    Tensor mine = own(ones_where(equal(x, y))), theirs = ones_where(equal(v, taken(y)));
    Tensor n = put(mine, theirs, "add");
    Tensor share = divide(dy, maximum(n, full_like(n, 1)));
    dx = multiply(mine, share);
    dv = multiply(theirs, taken(share));
  } else {
    // The product of all others: zeros are counted apart.
    auto factor = [&](const Tensor& t) {
      return where(equal(t, zeros_like(t)), full_like(t, 1), t);
    };
    auto is_zero = [&](const Tensor& t) { return ones_where(equal(t, zeros_like(t))); };
    const Tensor zeros = put(kept(is_zero(x)), is_zero(v), "add");
    const Tensor product = combine_along_op(factor(x), at, factor(v), a);
    auto others = [&](const Tensor& t, const Tensor& p, const Tensor& n) {
      return where(equal(n, is_zero(t)), divide(p, factor(t)), zeros_like(p));
    };
    dx = own(multiply(dy, others(x, product, zeros)));
    dv = multiply(taken(dy), others(v, taken(product), taken(zeros)));
  }
  return {dx, Tensor(), sum_like(dv, c.in[2])};
}

void index_sample_infer(InferContext& c, const NoAttrs&) {
  const Shape &x = c.in[0].shape(), &index = c.in[1].shape();
  ARGOSY_CHECK(x.rank() == 2 && index.rank() == 2 && (x[0] == index[0] || x[0] < 0 || index[0] < 0),
               invalid_argument)
      << "[index_sample] x [N, M] and index [N, K] must have the same rows, got " << x << " and "
      << index << ". Do this: use gather or index_select for indices that all rows share.";
  c.out[0].shape = c.in[1].shape();
}
Tensors index_sample_compose(const op::Inputs& in, const NoAttrs&) {
  return take_along_op(in[0], in[1], AlongAttrs{1});
}

ARGOSY_OP(index_sample, NoAttrs)
    .python("index_sample(x, index)")
    .method("index_sample")
    .doc("For each row of x [n, m], its elements at the places in the row of index [n, k].")
    .shape("x [n,m], index [n,k] -> [n,k]")
    .example(
        R"(>>> argosy.index_sample(argosy.to_tensor([[1, 2], [3, 4]]), argosy.to_tensor([[0, 0], [1, 0]])).tolist()
[[1, 1], [4, 3]])")
    .input("x")
    .input("index", kIndex)
    .output("out")
    .infer(index_sample_infer)
    .compose(index_sample_compose)
    .done();

// --- where ---

void where_infer(InferContext& c, const NoAttrs&) {
  Shape s = broadcast("where", c.in[0].shape(), c.in[1].shape());
  c.out[0] = {broadcast("where", s, c.in[2].shape()), c.in[1].dtype()};
}
void where_run(KernelFrame& f, const NoAttrs&) {
  ARGOSY_CHECK(f.in[1].dtype() == f.in[2].dtype(), type)
      << "[where] x and y must have one dtype, got " << f.in[1] << " and " << f.in[2]
      << ". Do this: call .astype(..) on one of them.";
  run_elementwise(f, cpu::where_loops(), nullptr, 1, 1);
}
Tensors where_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(where_select, NoAttrs)
    .doc(
        "Elements of x where condition holds, of y elsewhere; the three broadcast. x and y have "
        "one "
        "dtype.")
    .shape("condition [*s], x [*s], y [*s] -> [*s]")
    .input("condition", kBool, Save::value)
    .input("x", kAny, Save::shape)
    .input("y", kAny, Save::shape)
    .output("out")
    .infer(where_infer)
    .kernel("loops", where_run)
    .strided()
    .on_loops()
    .any_order()
    .gradient(where_grad)
    .again()
    .done();

Tensors where_grad(const GradCall& c, const NoAttrs&) {
  Tensor zero = constant(0, c.dy().dtype(), c.dy().place());
  return {Tensor(), c.needs(1) ? sum_like(where(c.in[0], c.dy(), zero), c.in[1]) : Tensor(),
          c.needs(2) ? sum_like(where(c.in[0], zero, c.dy()), c.in[2]) : Tensor()};
}

Tensors masked_fill_compose(const op::Inputs& in, const NoAttrs&) {
  return where(in[1], cast(in[2], in[0].dtype()), in[0]);
}
void masked_fill_infer(InferContext& c, const NoAttrs&) {
  c.out[0].shape = broadcast("masked_fill", c.in[0].shape(), c.in[1].shape());
}

ARGOSY_OP(masked_fill, NoAttrs)
    .python("masked_fill(x, mask, value, name=None)")
    .method("masked_fill")
    .inplace("masked_fill_")
    .alias("input", "x")
    .doc("x with value where mask holds; mask and x broadcast, value is a number or 0-d tensor.")
    .shape("x [*s], mask [*s], value [*s] -> [*s]")
    .example(
        R"(>>> argosy.masked_fill(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([True, False]), 9.0).tolist()
[9.0, 2.0])")
    .input("x")
    .input("mask", kBool)
    .input("value")
    .output("out")
    .infer(masked_fill_infer)
    .compose(masked_fill_compose)
    .done();

void masked_select_infer(InferContext& c, const NoAttrs&) {
  c.out[0].shape = {kUnknown};
}
Tensors masked_select_compose(const op::Inputs& in, const NoAttrs&) {
  Tensor x = in[0], mask = in[1];
  if (!(x.shape() == mask.shape() && x.shape().known())) {
    // Broadcast both; the gradient of the expansion sums.
    Tensor whole = where(mask, x, x);
    mask = expand_like(mask, whole);
    x = whole;
  }
  if (x.rank() == 0) x = unsqueeze(x, {0}), mask = unsqueeze(mask, {0});
  return select_true(x, mask);
}

ARGOSY_OP(masked_select, NoAttrs)
    .python("masked_select(x, mask, name=None, *, out=None)")
    .method("masked_select")
    .alias("input", "x")
    .doc("The elements of x where mask holds, as a vector in C order; x and mask broadcast.")
    .shape("x [*s], mask [*s] -> [?]")
    .example(
        R"(>>> argosy.masked_select(argosy.to_tensor([1.0, 2.0, 3.0]), argosy.to_tensor([True, False, True])).tolist()
[1.0, 3.0])")
    .input("x")
    .input("mask", kBool)
    .output("out")
    .infer(masked_select_infer)
    .compose(masked_select_compose)
    .done();

}  // namespace

Tensor put_along_add(const Tensor& x, const Tensor& indices, const Tensor& values, int64_t axis) {
  return put_along_op(x, indices, values, PutAlongAttrs{axis, "add", true});
}
Tensor take_along(const Tensor& x, const Tensor& indices, int64_t axis) {
  return take_along_op(x, indices, AlongAttrs{axis});
}
Tensor zeros_of(const Tensor& x, DType dtype) {
  return full_like(x, 0, dtype);
}

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  DType t = promote(x.dtype(), y.dtype());
  return where_select_op(condition, cast(x, t), cast(y, t));
}

}  // namespace argosy::ops
