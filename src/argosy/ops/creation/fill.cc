#include <cmath>
#include <cstring>

#include "argosy/kernels/cpu/copy.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"
#include "argosy/op/launch.h"
#include "argosy/ops/creation/creation.h"

namespace argosy::ops {
namespace {

using op::Scalar;
using ShapeAttrs = FilledAttrs;

void fill(const Tensor& out, const Scalar& value) {
  const Shape zero = Shape::filled(out.rank(), 0);
  const int size = item_size(out.dtype());
  Element element = element_of(value, out.dtype());
  cpu::copy_strided(out.raw(), out.strides().data(), element.bytes, zero.data(), out.shape(), size);
}

// What every element is, unless a run says it.
std::optional<Scalar> number_of(const Scalar& value) {
  if (value.tensor.defined()) return {};
  return value;
}
template <int kValue, class Attrs>
std::optional<Scalar> constant_number(const Attrs&) {
  return Scalar(int64_t{kValue});
}

DType dtype_of_scalar(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Kind::boolean:
      return DType::bool_;
    case Scalar::Kind::integer:  // not int64: full([2], 7) is a tensor of floats, as Paddle's
    case Scalar::Kind::real:
      return op::default_dtype();
    case Scalar::Kind::complex:
      return DType::complex128;  // as Paddle's, whatever the default
  }
  return DType::float32;
}

void full_infer(op::InferContext& c, const FullAttrs& a) {
  Shape shape;
  for (int64_t size : a.shape.values) {
    ARGOSY_CHECK(size >= 0 || !a.shape.symbols.empty(), invalid_argument)
        << '[' << c.name() << "] shape must not be negative, got " << size
        << ". Do this: check how the size was computed.";
    shape.push_back(size);
  }
  c.out[0] = {shape, a.dtype.value_or(dtype_of_scalar(a.fill_value))};
}

void full_run(op::KernelFrame& f, const FullAttrs& a) {
  fill(f.out[0], a.fill_value);
}

// Rows that are equal would stay equal: within the constant instead.
std::optional<double> full_range(const FullAttrs& a) {
  if (a.fill_value.tensor.defined()) return {};
  return std::abs(a.fill_value.real());
}

void shape_infer(op::InferContext& c, const ShapeAttrs& a) {
  full_infer(c, FullAttrs{a.shape, 0.0, a.dtype.value_or(op::default_dtype())});
}
template <int kValue>
void constant_run(op::KernelFrame& f, const ShapeAttrs&) {
  fill(f.out[0], kValue);
}
void empty_run(op::KernelFrame&, const ShapeAttrs&) {}

ARGOSY_OP(zeros, ShapeAttrs)
    .python(
        "zeros(shape, dtype=None, name=None, *, out=None, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("size", "shape")
    .doc("A tensor of zeros; dtype defaults to the default dtype.")
    .shape("-> [*s']")
    .example(R"(>>> argosy.zeros([2, 2]).tolist()
[[0.0, 0.0], [0.0, 0.0]])")
    .output("out")
    .infer(shape_infer)
    .kernel("fill", constant_run<0>)
    .fills(constant_number<0, ShapeAttrs>)
    .done();

ARGOSY_OP(ones, ShapeAttrs)
    .python(
        "ones(shape, dtype=None, name=None, *, out=None, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("size", "shape")
    .doc("A tensor of ones; dtype defaults to the default dtype.")
    .shape("-> [*s']")
    .example(R"(>>> argosy.ones([2, 2]).tolist()
[[1.0, 1.0], [1.0, 1.0]])")
    .output("out")
    .infer(shape_infer)
    .kernel("fill", constant_run<1>)
    .fills(constant_number<1, ShapeAttrs>)
    .done();

ARGOSY_OP(empty, ShapeAttrs)
    .python(
        "empty(shape, dtype=None, name=None, *, out=None, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("size", "shape")
    .doc("A tensor of uninitialized memory; dtype defaults to the default dtype.")
    .shape("-> [*s']")
    .example(R"(>>> argosy.empty([2, 3]).shape
paddle.Size([2, 3]))")
    .output("out")
    .infer(shape_infer)
    .kernel("none", empty_run)
    .uninitialized()
    .done();

ARGOSY_OP(full, FullAttrs)
    .python(
        "full(shape, fill_value, dtype=None, name=None, *, out=None, device=None, "
        "requires_grad=False, pin_memory=False)")
    .alias("size", "shape")
    .doc(
        "A tensor of `shape` with every element fill_value; without dtype, the default one for a "
        "number, bool for a bool.")
    .shape("-> [*s']")
    .example(R"(>>> argosy.full([2, 2], 7).tolist()
[[7.0, 7.0], [7.0, 7.0]])")
    .output("out")
    .initial_range(full_range)
    .infer(full_infer)
    .kernel("fill", full_run)
    .fills([](const FullAttrs& a) { return number_of(a.fill_value); })
    .done();

void full_like_infer(op::InferContext& c, const FullLikeAttrs& a) {
  if (a.dtype) c.out[0].dtype = *a.dtype;
}

void full_like_run(op::KernelFrame& f, const FullLikeAttrs& a) {
  fill(f.out[0], a.fill_value);
}

ARGOSY_OP(full_like, FullLikeAttrs)
    .python(
        "full_like(x, fill_value, dtype=None, name=None, *, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("input", "x")
    .doc("A tensor of x's shape with every element fill_value; dtype defaults to x's.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.full_like(argosy.ones([2]), 7).tolist()
[7.0, 7.0])")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(full_like_infer)
    .kernel("fill", full_like_run)
    .strided()
    .fills([](const FullLikeAttrs& a) { return number_of(a.fill_value); })
    .done();

void like_infer(op::InferContext& c, const LikeAttrs& a) {
  if (a.dtype) c.out[0].dtype = *a.dtype;
}
template <int kValue>
void like_run(op::KernelFrame& f, const LikeAttrs&) {
  fill(f.out[0], kValue);
}
void empty_like_run(op::KernelFrame&, const LikeAttrs&) {}

ARGOSY_OP(zeros_like, LikeAttrs)
    .python(
        "zeros_like(x, dtype=None, name=None, *, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("input", "x")
    .doc("Zeros of x's shape; dtype defaults to x's.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.zeros_like(argosy.to_tensor([5, 6])).tolist()
[0, 0])")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(like_infer)
    .kernel("fill", like_run<0>)
    .strided()
    .fills(constant_number<0, LikeAttrs>)
    .done();

ARGOSY_OP(ones_like, LikeAttrs)
    .python(
        "ones_like(x, dtype=None, name=None, *, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("input", "x")
    .doc("Ones of x's shape; dtype defaults to x's.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.ones_like(argosy.to_tensor([5, 6])).tolist()
[1, 1])")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(like_infer)
    .kernel("fill", like_run<1>)
    .strided()
    .fills(constant_number<1, LikeAttrs>)
    .done();

ARGOSY_OP(empty_like, LikeAttrs)
    .python(
        "empty_like(x, dtype=None, name=None, *, device=None, requires_grad=False, "
        "pin_memory=False)")
    .alias("input", "x")
    .doc("Uninitialized memory of x's shape; dtype defaults to x's.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.empty_like(argosy.ones([2, 3])).shape
paddle.Size([2, 3]))")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(like_infer)
    .kernel("none", empty_like_run)
    .strided()
    .uninitialized()
    .done();

// By the kernel of t's device, without a copy from the host; false where it has none.
bool filled_there(const Tensor& t, const Scalar& value) {
  const FullAttrs attrs{{}, value, t.dtype()};
  const op::KernelDef* kernel = op::find_kernel(full_op.def(), {}, &attrs, t.place().kind);
  if (!kernel || kernel->device == DeviceKind::cpu) return false;
  Tensors out{t};
  op::KernelFrame frame{full_op.def(), {}, out};
  op::launch(*kernel, frame, &attrs, t.place());
  return true;
}

}  // namespace

// Read through the cast loops from the widest form of the scalar.
Element element_of(const Scalar& value, DType dtype) {
  const void* from = &value.c;
  DType wide = DType::complex128;
  if (value.kind == Scalar::Kind::integer || value.kind == Scalar::Kind::boolean) {
    from = &value.i;
    wide = DType::int64;
  }
  Element element;
  const cpu::Operand one[] = {{const_cast<void*>(from), nullptr, item_size(wide)},
                              {element.bytes, nullptr, item_size(dtype)}};
  cpu::run_loop(cpu::cast_loop(wide, dtype), {}, one);
  return element;
}

Tensor full(const op::IntArray& shape, const Scalar& value, DType dtype) {
  return full_op.one({}, FullAttrs{shape, value, dtype});
}
Tensor full_like(const Tensor& x, const Scalar& value, DType dtype) {
  return full_like_op(x, FullLikeAttrs{value, dtype});
}
Tensor full_like(const Tensor& x, const Scalar& value) {
  return full_like_op(x, FullLikeAttrs{value, {}});
}
Tensor zeros_like(const Tensor& x) {
  return full_like(x, 0);
}
Tensor ones_like(const Tensor& x) {
  return full_like(x, 1);
}
Tensor constant(const Scalar& value, DType dtype, Place place) {
  Tensor t = Tensor::empty({}, dtype, place);
  if (place.kind == DeviceKind::cpu)
    fill(t, value);
  else if (!filled_there(t, value))
    op::copy_into(t, constant(value, dtype));
  return t;
}

}  // namespace argosy::ops
