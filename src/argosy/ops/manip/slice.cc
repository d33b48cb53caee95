#include <algorithm>

#include "argosy/op/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/reduce/reduce.h"

// Basic slices. Several axes at once are one view.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

struct Range {
  int64_t start, step, count;
};

bool is_symbol(const IntArray& a, size_t i) {
  return std::any_of(a.symbols.begin(), a.symbols.end(),
                     [&](const IntArray::Symbol& s) { return s.position == i; });
}

// Python's slice(start, end, step).indices(size).
Range range_of(int64_t size, int64_t start, int64_t end, int64_t step) {
  ARGOSY_CHECK(step != 0, invalid_argument)
      << "[slice] a step must not be 0. Do this: use 1, or -1 to go back.";
  // Longer steps take one element, too, and numbers around them would overflow.
  const int64_t longest = std::max<int64_t>(size, 1);
  step = std::clamp(step, -longest, longest);
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t v) {
    if (v < 0) v = v + size < low ? low : v + size;
    return std::min(v, high);
  };
  start = clamp(start);
  end = clamp(end);
  int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
  return {start, step, std::max<int64_t>(count, 0)};
}

int64_t step_of(const SliceAttrs& a, size_t i) {
  return a.strides.empty() ? 1 : a.strides[i];
}

bool dropped(const SliceAttrs& a, int axis) {
  return std::find(a.decrease_axis.begin(), a.decrease_axis.end(), axis) != a.decrease_axis.end();
}

void check(const SliceAttrs& a, const Shape& x) {
  ARGOSY_CHECK(a.axes.size() == a.starts.size() && a.axes.size() == a.ends.size() &&
                   (a.strides.empty() || a.strides.size() == a.axes.size()),
               invalid_argument)
      << "[slice] axes, starts, ends and strides must have one length, got " << a.axes.size()
      << ", " << a.starts.size() << ", " << a.ends.size() << " and " << a.strides.size()
      << " for shape " << x << ". Do this: pass one of each for every axis.";
}

// The form of the slice; raises where there is none.
Shape sliced(const Shape& x, const SliceAttrs& a) {
  check(a, x);
  Shape full = x;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    int axis = normalize_axis("slice", a.axes[i], x.rank());
    bool unknown = x[axis] < 0 || is_symbol(a.starts, i) || is_symbol(a.ends, i);
    if (dropped(a, axis))
      full[axis] = 1;
    else
      full[axis] =
          unknown ? kUnknown : range_of(x[axis], a.starts[i], a.ends[i], step_of(a, i)).count;
  }
  Shape out;
  for (int i = 0; i < x.rank(); ++i)
    if (!dropped(a, i)) out.push_back(full[i]);
  return out;
}

void slice_infer(InferContext& c, const SliceAttrs& a) {
  c.out[0].shape = sliced(c.in[0].shape(), a);
}

}  // namespace

Tensor slice_view(const Tensor& x, const SliceAttrs& a) {
  check(a, x.shape());
  Shape shape = x.shape(), strides = x.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    int axis = normalize_axis("slice", a.axes[i], x.rank());
    Range r = range_of(x.dim(axis), a.starts[i], a.ends[i], step_of(a, i));
    ARGOSY_CHECK(!dropped(a, axis) || r.count == 1, index)
        << "[slice] index " << a.starts[i] << " is out of range for dimension " << axis
        << " of size " << x.dim(axis)
        << ". Do this: check the index; negative ones count from the end.";
    if (r.count) offset += r.start * x.strides()[axis];
    shape[axis] = r.count;
    strides[axis] = x.strides()[axis] * r.step;
  }
  Shape out_shape, out_strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (dropped(a, i)) continue;
    out_shape.push_back(shape[i]);
    out_strides.push_back(strides[i]);
  }
  return x.view(out_shape, out_strides, offset);
}

namespace {

void set_slice_infer(InferContext& c, const SliceAttrs& a) {
  op::check_fits(sliced(c.in[0].shape(), a), c.in[1].shape());
}
void set_slice_run(KernelFrame& f, const SliceAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor& out = f.out[0];
  if (x.raw() != out.raw()) op::copy_into(out, x);
  op::copy_into(slice_view(out, a), f.in[1]);
}

void slice_grad_run(KernelFrame& f, const SliceAttrs& a) {
  std::fill_n(static_cast<char*>(f.out[0].raw()), f.out[0].nbytes(), 0);
  op::copy_into(slice_view(f.out[0], a), f.in[0]);
}
void slice_grad_infer(InferContext& c, const SliceAttrs&) {
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
Tensors slice_grad_grad(const GradCall& c, const SliceAttrs& a);

ARGOSY_OP(slice_grad, SliceAttrs)
    .doc("Zeros of x's shape with dy where the slice lies: the gradient of slice.")
    .input("dy")
    .input("x")
    .shape_only()
    .output("out")
    .infer(slice_grad_infer)
    .kernel("copy", slice_grad_run)
    .strided()
    .any_order()
    .gradient(slice_grad_grad)
    .done();

Tensors slice_grad_rule(const GradCall& c, const SliceAttrs& a) {
  return slice_grad_op(c.dy(), c.in[0], a);
}

ARGOSY_OP(slice, SliceAttrs)
    .doc("x[start:end:step] on each of axes, as one view; then drops decrease_axis.")
    .shape("x [*s] -> [*s']")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(slice_infer)
    .view(slice_view)
    .gradient(slice_grad_rule)
    .done();

Tensors slice_grad_grad(const GradCall& c, const SliceAttrs& a) {
  return {slice_op(c.dy(), a), Tensor()};
}

// --- a value written into a slice ---

Tensor set_slice_again(std::span<const Tensor> in, const SliceAttrs& a);

Tensors set_slice_grad(const GradCall& c, const SliceAttrs& a) {
  Tensor dvalue;
  if (c.needs(1)) dvalue = sum_like(slice_op(c.dy(), a), c.in[1]);
  Tensor dx;
  if (c.needs(0)) {
    Tensor zero = constant(0, c.dy().dtype(), c.dy().place());
    const Tensor in[] = {c.dy(), zero};
    dx = set_slice_again(in, a);
  }
  return {dx, dvalue};
}

ARGOSY_OP(set_slice, SliceAttrs)
    .doc("A copy of x with value, broadcast, written into the slice.")
    .shape("x [*s], value [*t] -> [*s]")
    .inplace("set_slice_")
    .input("x")
    .input("value", kAny, Save::shape)
    .output("out")
    .infer(set_slice_infer)
    .kernel("copy", set_slice_run)
    .strided()
    .any_order()
    .overwrites()
    .gradient(set_slice_grad)
    .done();

Tensor set_slice_again(std::span<const Tensor> in, const SliceAttrs& a) {
  return set_slice_op.one(in, a);
}

}  // namespace

Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  return slice_op(x, SliceAttrs{{axis}, {start}, {end}, {step}, {}});
}
Tensor slice(const Tensor& x, int64_t axis, const IntArray& start, const IntArray& end) {
  return slice_op(x, SliceAttrs{{axis}, start, end, {}, {}});
}
Tensor pick(const Tensor& x, int64_t axis, int64_t index) {
  if (axis < 0) axis += x.rank();
  const int64_t end = index == -1 ? INT64_MAX : index + 1;
  return slice_op(x, SliceAttrs{{axis}, {index}, {end}, {}, {axis}});
}

}  // namespace argosy::ops
