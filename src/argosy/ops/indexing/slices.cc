#include "argosy/kernels/cpu/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/called.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/reduce/reduce.h"

// Whole slices along one axis, by an integer tensor.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

// The shape of x with index's dimensions in place of axis.
Shape taken_shape(const Shape& x, int axis, const Shape& index) {
  Shape out;
  for (int i = 0; i < axis; ++i) out.push_back(x[i]);
  for (int64_t n : index) out.push_back(n);
  for (int i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

// int32 or int64, in range, contiguous.
Tensor checked_index(const char* op, const Tensor& given, int axis, int64_t size) {
  Tensor index = given;
  if ((index.dtype() != DType::int64 && index.dtype() != DType::int32) || !index.is_contiguous()) {
    index = Tensor::empty(given.shape(), DType::int64);
    op::copy_into(index, given);
  }
  const int64_t bad = cpu::find_bad_index(index.dtype(), index.raw(), index.numel(), -size, size);
  if (bad >= 0) [[unlikely]] {
    const int64_t value =
        index.dtype() == DType::int64 ? index.data<int64_t>()[bad] : index.data<int32_t>()[bad];
    ARGOSY_THROW(index) << '[' << called_name(op) << "] index " << value
                        << " is out of range for dimension " << axis << " of size " << size
                        << ". Do this: check the index; negative ones count from the end.";
  }
  return index;
}

struct Around {
  int64_t outer = 1, inner = 1;
};
Around around(const Shape& x, int axis) {
  Around a;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) (d < axis ? a.outer : a.inner) *= x[d];
  }
  return a;
}

void take_slices_infer(InferContext& c, const SliceAxisAttrs& a) {
  const Shape& x = c.in[0].shape();
  c.out[0].shape = taken_shape(x, normalize_axis(c.name(), a.axis, x.rank()), c.in[1].shape());
}

void take_slices_run(KernelFrame& f, const SliceAxisAttrs& a) {
  Tensor x = f.in[0];
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  Tensor index = checked_index(f.name(), f.in[1], axis, x.dim(axis));
  const Tensor& out = f.out[0];
  const int64_t n = index.numel();
  if (out.numel() == 0) return;
  if (!x.is_contiguous() && 2 * n < x.dim(axis)) {
    // Few slices: only they are read.
    Shape rest = x.shape(), strides = x.strides(), to_strides = rest;
    rest[axis] = n;
    to_strides = rest.contiguous_strides();
    rest[axis] = 1;
    for (int64_t i = 0; i < n; ++i) {
      int64_t at =
          index.dtype() == DType::int64 ? index.data<int64_t>()[i] : index.data<int32_t>()[i];
      if (at < 0) at += x.dim(axis);
      op::copy_into(out.view(rest, to_strides, i * to_strides[axis]),
                    x.view(rest, strides, at * strides[axis]));
    }
    return;
  }
  x = op::contiguous(x);
  const Around s = around(x.shape(), axis);
  cpu::index_select(out.raw(), x.raw(), s.outer, x.dim(axis), s.inner * item_size(x.dtype()),
                    index.dtype(), index.raw(), n);
}
Tensors take_slices_grad(const GradCall& c, const SliceAxisAttrs& a);

ARGOSY_OP(take_slices, SliceAxisAttrs)
    .doc("x along axis at the places of an integer tensor; its dimensions take the place of axis.")
    .input("x", kAny, Save::shape)
    .input("index", kIntegral, Save::value)
    .output("out")
    .infer(take_slices_infer)
    .kernel("gather", take_slices_run)
    .strided()
    .gradient(take_slices_grad)
    .done();

void add_slices_infer(InferContext& c, const SliceAxisAttrs& a) {
  const Shape& x = c.in[0].shape();
  Shape region = taken_shape(x, normalize_axis(c.name(), a.axis, x.rank()), c.in[1].shape());
  Shape both = broadcast(c.name(), region, c.in[2].shape());
  bool fits = both.rank() == region.rank();
  for (int d = 0; fits && d < both.rank(); ++d)
    fits = both[d] == region[d] || both[d] < 0 || region[d] < 0;
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << c.name() << "] a value of shape " << c.in[2].shape()
      << " does not fit into the indexed part of shape " << region
      << ". Do this: reshape the value so that it broadcasts.";
}
void add_slices_run(KernelFrame& f, const SliceAxisAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  Tensor index = checked_index(f.name(), f.in[1], axis, x.dim(axis));
  if (out.raw() != x.raw()) op::copy_into(out, x);
  const Shape region = taken_shape(x.shape(), axis, index.shape());
  if (region.numel() == 0) return;
  Tensor value = f.in[2];
  if (value.dtype() != out.dtype() || !(value.shape() == region)) {
    value = Tensor::empty(region, out.dtype());
    op::copy_into(value, f.in[2]);
  }
  const Around s = around(x.shape(), axis);
  cpu::scatter_add(out.dtype(), out.raw(), value.raw(), s.outer, x.dim(axis), s.inner,
                   index.dtype(), index.raw(), index.numel());
}
Tensors add_slices_grad(const GradCall& c, const SliceAxisAttrs& a) {
  return {c.dy(), Tensor(),
          c.needs(2) ? sum_like(take_slices(c.dy(), c.in[1], a.axis), c.in[2]) : Tensor()};
}

ARGOSY_OP(add_slices, SliceAxisAttrs)
    .doc("A copy of x with value, broadcast, added where take_slices(x, index, axis) reads.")
    .input("x", kNumeric, Save::nothing)
    .input("index", kIntegral, Save::value)
    .input("value", kNumeric, Save::shape)
    .output("out")
    .infer(add_slices_infer)
    .kernel("scatter", add_slices_run)
    .gradient(add_slices_grad)
    .done();

Tensors take_slices_grad(const GradCall& c, const SliceAxisAttrs& a) {
  return {add_slices_op(zeros_like(c.in[0]), c.in[1], c.dy(), a), Tensor()};
}

}  // namespace

Tensor take_slices(const Tensor& x, const Tensor& index, int64_t axis) {
  return take_slices_op(x, index, SliceAxisAttrs{axis});
}

}  // namespace argosy::ops
