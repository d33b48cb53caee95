#include <algorithm>

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/gather.h"
#include "argosy/op/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/cumulative/cumulative.h"
#include "argosy/ops/indexing/called.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

bool indexed(const IndexAttrs& a, int d) {
  return std::find(a.axes.begin(), a.axes.end(), d) != a.axes.end();
}

Shape index_shape(const char* op, std::span<const Tensor> indices) {
  Shape shape = indices[0].shape();
  for (const Tensor& i : indices.subspan(1)) shape = broadcast(op, shape, i.shape());
  return shape;
}

Shape result_shape(const char* op, const Shape& x, std::span<const Tensor> indices,
                   const IndexAttrs& a) {
  ARGOSY_CHECK(!indices.empty() && indices.size() == a.axes.size() &&
                   static_cast<int>(a.axes.size()) <= x.rank(),
               index)
      << '[' << op << "] too many indices: " << indices.size() << " for a tensor of " << x.rank()
      << " dimensions. Do this: drop some, or unsqueeze the tensor.";
  for (int64_t axis : a.axes)
    ARGOSY_CHECK(axis >= 0 && axis < x.rank(), axis)
        << '[' << op << "] axis is out of range: expected 0 <= axis < " << x.rank()
        << " for a tensor of " << x.rank() << " dimensions, got " << axis
        << ". Do this: name a dimension that it has.";
  Shape out = index_shape(op, indices);
  for (int d = 0; d < x.rank(); ++d)
    if (!indexed(a, d)) out.push_back(x[d]);
  return out;
}

// As int64, in C order, of the given shape.
Tensor wide_index(const Tensor& index, const Shape& shape) {
  if (index.dtype() == DType::int64 && index.shape() == shape && index.is_contiguous())
    return index;
  Tensor wide = Tensor::empty(shape, DType::int64);
  op::copy_into(wide, index);
  return wide;
}

// Whether places along an axis are offsets as they stand: none counts from the end, none is
// outside. Nobody may write them while they are used, so they must not be the memory of x.
bool are_offsets(const Tensor& index, const Tensor& x, int axis) {
  if (x.strides()[axis] != 1 || index.impl()->storage == x.impl()->storage) return false;
  const int64_t *p = index.data<int64_t>(), n = index.numel();
  const auto last = static_cast<uint64_t>(x.dim(axis) - 1);
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto place = static_cast<uint64_t>(p[i]);
    outside |= place | (last - place);
  }
  return outside >> 63 == 0;
}

// The offsets, in elements of x, of all places that the indices name. An index out of range is an
// error of kind `outside`.
Tensor offsets_of(const char* op, const Tensor& x, std::span<const Tensor> indices,
                  const IndexAttrs& a, ErrorKind outside) {
  Shape shape = index_shape(op, indices);
  if (indices.size() == 1) {
    Tensor only = wide_index(indices[0], shape);
    if (are_offsets(only, x, static_cast<int>(a.axes[0]))) return only;
  }
  Tensor offsets = Tensor::empty(shape, DType::int64);
  for (size_t k = 0; k < indices.size(); ++k) {
    Tensor index = wide_index(indices[k], shape);
    const int axis = static_cast<int>(a.axes[k]);
    const int64_t bad = cpu::index_offsets(offsets.data<int64_t>(), index.data<int64_t>(),
                                           index.numel(), x.dim(axis), x.strides()[axis], k > 0);
    if (bad >= 0)
      Thrower{outside} & Message()
                             << '[' << called_name(op) << "] index " << index.data<int64_t>()[bad]
                             << " is out of range for dimension " << axis << " of size "
                             << x.dim(axis)
                             << ". Do this: check the index; negative ones count from the "
                                "end.";
  }
  return offsets;
}

// What is left of x at one place: shape and strides.
struct Rest {
  Shape shape, strides;
  bool dense;  // one run of memory
};
Rest rest_of(const Tensor& x, const IndexAttrs& a) {
  Rest r;
  for (int d = 0; d < x.rank(); ++d) {
    if (indexed(a, d)) continue;
    r.shape.push_back(x.dim(d));
    r.strides.push_back(x.strides()[d]);
  }
  Shape tight = r.shape.contiguous_strides();
  r.dense = true;
  for (int d = 0; d < r.shape.rank(); ++d) r.dense &= r.shape[d] == 1 || r.strides[d] == tight[d];
  return r;
}

void index_get_run(KernelFrame& f, const IndexAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  Tensor offsets = offsets_of(f.name(), x, f.in.list(1), a, ErrorKind::axis);
  Rest rest = rest_of(x, a);
  const int64_t* offset = offsets.data<int64_t>();
  const int64_t n = offsets.numel(), item = item_size(x.dtype());
  const int64_t bytes = rest.shape.numel() * item;
  if (!rest.dense) {
    Shape tight = rest.shape.contiguous_strides();
    for (int64_t i = 0; i < n; ++i)
      op::copy_into(out.view(rest.shape, tight, i * (bytes / item)),
                    x.view(rest.shape, rest.strides, offset[i]));
    return;
  }
  cpu::gather_offsets(out.raw(), x.raw(), offset, n, item, bytes);
}

void index_get_infer(InferContext& c, const IndexAttrs& a) {
  c.out[0] = {result_shape(c.name(), c.in[0].shape(), c.in.list(1), a), c.in[0].dtype()};
}

// --- index_put ---

void index_put_infer(InferContext& c, const IndexAttrs& a) {
  Shape region = result_shape(c.name(), c.in[0].shape(), c.in.list(2), a);
  Shape both = broadcast(c.name(), region, c.in[1].shape());
  ARGOSY_CHECK(both.rank() == region.rank(), invalid_argument)
      << '[' << c.name() << "] a value of shape " << c.in[1].shape()
      << " does not fit into the indexed part of shape " << region
      << ". Do this: reshape the value so that it broadcasts.";
  op::check_fits(region, c.in[1].shape());
}

void index_put_run(KernelFrame& f, const IndexAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.raw() != f.in[0].raw()) op::copy_into(out, f.in[0]);
  auto indices = f.in.list(2);
  Tensor offsets = offsets_of(f.name(), out, indices, a, ErrorKind::index);
  if (offsets.numel() == 0) return;
  Rest rest = rest_of(out, a);
  const int64_t width = rest.shape.numel(), item = item_size(out.dtype()), n = offsets.numel();
  const int64_t* offset = offsets.data<int64_t>();
  const Tensor& given = f.in[1];
  const bool shared = given.impl()->storage == out.impl()->storage;
  if (rest.dense && !a.accumulate && width == 1 && given.numel() == 1 && !shared &&
      given.dtype() == out.dtype()) {
    return cpu::scatter_offsets(out.raw(), offset, n, item, item, given.raw(), 0);
  }
  Tensor value = given;
  Shape region = result_shape(f.name(), out.shape(), indices, a);
  if (shared || given.dtype() != out.dtype() || !(given.shape() == region) ||
      !given.is_contiguous()) {
    value = Tensor::empty(region, out.dtype());
    op::copy_into(value, given);
  }
  if (rest.dense && !a.accumulate)
    return cpu::scatter_offsets(out.raw(), offset, n, item, width * item, value.raw(),
                                width * item);
  if (rest.dense && out.dtype() != DType::bool_)
    return cpu::scatter_add_offsets(out.dtype(), out.raw(), offset, n, width, value.raw());
  Shape tight = rest.shape.contiguous_strides();
  cpu::Loop loop =
      a.accumulate ? cpu::add_loops()[out.dtype()] : cpu::cast_loop(out.dtype(), out.dtype());
  // In order: with repeated places the last write wins, and sums do not depend on threads.
  const int64_t steps[] = {item, item, item};
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    char* to = static_cast<char*>(out.raw()) + offset[i] * item;
    char* from = static_cast<char*>(value.raw()) + i * width * item;
    if (rest.dense) {
      char* const ptrs[] = {to, from, to};
      loop(ptrs, steps, width, nullptr);
      continue;
    }
    const cpu::Operand place{to, rest.strides.data(), static_cast<int>(item)};
    const cpu::Operand source{from, tight.data(), static_cast<int>(item)};
    if (a.accumulate) {
      const cpu::Operand operands[] = {place, source, place};
      cpu::run_loop(loop, rest.shape, operands);
    } else {
      const cpu::Operand operands[] = {source, place};
      cpu::run_loop(loop, rest.shape, operands);
    }
  }
}

Tensors call_put(const Tensor& x, const Tensor& value, std::span<const Tensor> indices,
                 const IndexAttrs& a);

Tensors index_get_grad(const GradCall& c, const IndexAttrs& a) {
  IndexAttrs add{a.axes, true};
  Tensors out = call_put(zeros_like(c.in[0]), c.dy(), c.in.list(1), add);
  out.resize(c.in.flat().size());
  return out;
}

ARGOSY_OP(index_get, IndexAttrs)
    .doc("x at the places that integer tensors name along `axes`; index dimensions come first.")
    .input("x", kAny, Save::shape)
    .list_input("indices", kIndex | kIntegral, Save::value)
    .output("out")
    .infer(index_get_infer)
    .kernel("gather", index_get_run)
    .strided()
    .gradient(index_get_grad)
    .done();

// Where a place is named twice the last value stays, and the others have no gradient. Bool, with
// the region's rank; undefined if only one place is named. The values are numbered and written in
// the same way: those that are found again have stayed.
Tensor what_stayed(const Tensor& x, std::span<const Tensor> indices, const IndexAttrs& a) {
  if (std::ranges::all_of(indices, [](const Tensor& i) { return i.rank() == 0; })) return {};
  Tensor each = ones_like(cast(indices[0], DType::int64));
  for (const Tensor& i : indices.subspan(1)) each = add(each, zeros_like(cast(i, DType::int64)));
  Tensor number = reshape_like(cumsum(flatten(each, 0, -1), 0), each);
  for (int d = static_cast<int>(indices.size()); d < x.rank(); ++d)
    number = unsqueeze(number, {-1});
  const Tensor none = zeros_like(cast(x, DType::int64));
  return equal(index_get(index_put(none, number, indices, a.axes, false), indices, a.axes), number);
}

Tensors index_put_grad(const GradCall& c, const IndexAttrs& a) {
  auto indices = c.in.list(2);
  Tensors out;
  out.resize(c.in.flat().size());
  if (c.needs(0)) {
    out[0] = a.accumulate ? c.dy()
                          : index_put(c.dy(), constant(0, c.dy().dtype(), c.dy().place()), indices,
                                      a.axes, false);
  }
  if (c.needs(1)) {
    Tensor dv = index_get(c.dy(), indices, a.axes);
    if (!a.accumulate)
      if (Tensor stayed = what_stayed(c.dy(), indices, a); stayed.defined())
        dv = where(stayed, dv, zeros_like(dv));
    out[1] = sum_like(dv, c.in[1]);
  }
  return out;
}

ARGOSY_OP(index_put, IndexAttrs)
    .doc(
        "A copy of x with value, broadcast, written (or added) at the places that integer tensors "
        "name along `axes`. Where a place is named twice, the last value stays.")
    .inplace("index_put_")
    .input("x")
    .input("value", kAny, Save::shape)
    .list_input("indices", kIndex | kIntegral, Save::value)
    .output("out")
    .infer(index_put_infer)
    .kernel("scatter", index_put_run)
    .strided()
    .overwrites()
    .gradient(index_put_grad)
    .done();

Tensors call_put(const Tensor& x, const Tensor& value, std::span<const Tensor> indices,
                 const IndexAttrs& a) {
  InlineVector<Tensor, 6> in{x, value};
  for (const Tensor& i : indices) in.push_back(i);
  const uint32_t ends[] = {1, 2, static_cast<uint32_t>(in.size())};
  return index_put_op.all(op::Inputs(in, ends), a);
}

}  // namespace

Tensor index_get(const Tensor& x, std::span<const Tensor> indices,
                 const std::vector<int64_t>& axes) {
  InlineVector<Tensor, 6> in{x};
  for (const Tensor& i : indices) in.push_back(i);
  const uint32_t ends[] = {1, static_cast<uint32_t>(in.size())};
  return std::move(index_get_op.all(op::Inputs(in, ends), IndexAttrs{axes, false})[0]);
}

Tensor index_put(const Tensor& x, const Tensor& value, std::span<const Tensor> indices,
                 const std::vector<int64_t>& axes, bool accumulate) {
  return std::move(call_put(x, value, indices, IndexAttrs{axes, accumulate})[0]);
}

}  // namespace argosy::ops
