#include "argosy/ops/reduce/common.h"

namespace argosy::ops {

Shape reduced_shape(const Shape& x, uint32_t mask, bool keepdim) {
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(mask >> d & 1))
      shape.push_back(x[d]);
    else if (keepdim)
      shape.push_back(1);
  }
  return shape;
}

Shape reduced_shape(const Shape& x, const op::IntArray& axis, bool keepdim) {
  const int left = x.rank() - (keepdim ? 0 : static_cast<int>(axis.size()));
  return Shape::filled(std::max(0, left), kUnknown);
}

void run_reduce(cpu::Reduce kind, const Tensor& x, const Tensor& out, uint32_t mask) {
  DType natural = cpu::reduced_dtype(kind, x.dtype());
  if (natural == out.dtype()) {
    cpu::reduce(kind, x.dtype(), x.raw(), x.shape(), x.strides().data(), mask, out.raw());
    return;
  }
  if (x.dtype() != out.dtype() &&
      (is_differentiable(out.dtype()) || is_differentiable(x.dtype()))) {
    // A dtype asked for: x is cast to it first.
    Tensor converted = Tensor::empty(x.shape(), out.dtype());
    op::copy_into(converted, x);
    return run_reduce(kind, converted, out, mask);
  }
  Tensor result = Tensor::empty(out.shape(), natural);
  cpu::reduce(kind, x.dtype(), x.raw(), x.shape(), x.strides().data(), mask, result.raw());
  op::copy_into(out, result);
}

Tensor with_axes(const char* op, const Tensor& y, const Tensor& x, const op::IntArray& axis,
                 bool keepdim) {
  if (keepdim || x.rank() == 0) return y;
  uint32_t mask = op::axes_mask(op, axis, x.rank());
  op::IntArray axes;
  for (int d = 0; d < x.rank(); ++d)
    if (mask >> d & 1) axes.values.push_back(d);
  return unsqueeze(y, axes);
}

Tensor as_rows(const char* op, const Tensor& x, const op::IntArray& axis) {
  uint32_t mask = op::axes_mask(op, axis, x.rank());
  if (x.rank() == 0) return unsqueeze(x, op::IntArray::one(0));
  std::vector<int64_t> perm, reduced;
  bool sorted = true;
  for (int d = 0; d < x.rank(); ++d) {
    if (mask >> d & 1)
      reduced.push_back(d);
    else
      perm.push_back(d), sorted = sorted && reduced.empty();
  }
  int64_t kept = static_cast<int64_t>(perm.size());
  perm.insert(perm.end(), reduced.begin(), reduced.end());
  Tensor moved = sorted ? x : transpose(x, perm);
  return reduced.size() > 1 ? flatten(moved, kept, x.rank() - 1) : moved;
}

}  // namespace argosy::ops
