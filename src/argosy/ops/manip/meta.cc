#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

// Sizes as tensors, and memory read as another dtype.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;

void shape_infer(InferContext& c, const NoAttrs&) {
  c.out[0] = {{c.in[0].rank()}, DType::int64};
}
void shape_run(KernelFrame& f, const NoAttrs&) {
  for (int i = 0; i < f.in[0].rank(); ++i) f.out[0].data<int64_t>()[i] = f.in[0].dim(i);
}

ARGOSY_OP(shape, NoAttrs)
    .doc("The sizes of x's dimensions, as an int64 vector.")
    .shape("input [*s] -> [rank(s)]")
    .input("input")
    .shape_only()
    .index_output("out")
    .infer(shape_infer)
    .kernel("reference", shape_run)
    .strided()
    .done();

void numel_infer(InferContext& c, const NoAttrs&) {
  c.out[0] = {{}, DType::int64};
}
void numel_run(KernelFrame& f, const NoAttrs&) {
  *f.out[0].data<int64_t>() = f.in[0].numel();
}

ARGOSY_OP(numel, NoAttrs)
    .doc("The number of elements of x, as a 0-d int64 tensor.")
    .shape("x [*s] -> []")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(numel_infer)
    .kernel("reference", numel_run)
    .strided()
    .done();

Shape viewed(const Tensor& x, DType dtype) {
  int from = item_size(x.dtype()), to = item_size(dtype);
  Shape out = x.shape();
  if (from == to) return out;
  ARGOSY_CHECK(x.rank() > 0, invalid_argument)
      << "[view] a 0-d tensor can only be read as a dtype of the same size, got " << dtype
      << " for " << x << '.';
  int64_t& last = out[out.rank() - 1];
  if (last < 0) return out;
  ARGOSY_CHECK(last * from % to == 0, invalid_argument)
      << "[view] the last dimension of " << x << " has " << last * from
      << " bytes, which are no multiple of the " << to << " of " << dtype << '.';
  last = last * from / to;
  return out;
}

void view_dtype_infer(InferContext& c, const ViewDtypeAttrs& a) {
  c.out[0] = {viewed(c.in[0], a.dtype), a.dtype};
}
}  // namespace

Tensor view_dtype_view(const Tensor& x, const ViewDtypeAttrs& a) {
  if (!x.is_contiguous()) return {};
  Shape shape = viewed(x, a.dtype);
  Tensor out = x.view(x.shape(), x.strides());
  TensorImpl* impl = out.impl();
  impl->dtype = a.dtype;
  impl->shape = shape;
  impl->strides = shape.contiguous_strides();
  impl->numel = shape.numel();
  return out;
}

namespace {
void view_dtype_run(KernelFrame& f, const ViewDtypeAttrs& a) {
  op::copy_into(f.out[0], view_dtype_view(f.in[0], a));
}

ARGOSY_OP(view_dtype, ViewDtypeAttrs)
    .doc("x's memory read as another dtype; the last size scales with the size of an element.")
    .shape("x [*s] -> [*s']")
    .input("x")
    .index_output("out")
    .infer(view_dtype_infer)
    .view(view_dtype_view)
    .kernel("copy", view_dtype_run)
    .amp(op::Amp::never)
    .done();

}  // namespace
void push_size(op::IntArray& shape, const Tensor& x, int axis) {
  if (axis < 0) axis += x.rank();
  const int64_t size = x.dim(axis);
  if (size < 0)
    shape.symbols.push_back({static_cast<uint32_t>(shape.size()), pick(shape_op(x), 0, axis)});
  shape.values.push_back(size);
}
op::IntArray size_along(const Tensor& x, int axis) {
  op::IntArray size;
  push_size(size, x, axis);
  return size;
}
Tensor size_of(const Tensor& x, int axis, DType dtype) {
  if (axis < 0) axis += x.rank();
  if (x.dim(axis) >= 0) return constant(x.dim(axis), dtype, x.place());
  return cast(pick(shape_op(x), 0, axis), dtype);
}

Tensor forget_sizes(const Tensor& x, std::span<const int64_t> sizes) {
  op::IntArray to;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto at = static_cast<uint32_t>(i);
    if (sizes[i] < 0) to.symbols.push_back({at, pick(shape_op(x), 0, at)});
    to.values.push_back(sizes[i]);
  }
  return reshape(x, to);
}
Tensor numel_of(const Tensor& x) {
  return x.numel() >= 0 ? constant(x.numel(), DType::int64, x.place()) : numel_op(x);
}

}  // namespace argosy::ops
