#include <cmath>

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

// The gradient of a broadcast operand is summed over what was repeated. In a function of two
// operands only shapes are read, so they are saved as shapes.

// x + factor * y
void run_axpy(op::KernelFrame& f, double factor) {
  ARGOSY_CHECK(is_differentiable(f.in[0].dtype()) || factor == std::floor(factor), type)
      << '[' << f.name() << "] alpha of integer tensors must be a whole number, got " << factor
      << '.';
  cpu::LoopParams p{1, factor};
  run_elementwise(f, cpu::axpy_loops(), &p);
}

void add_run(op::KernelFrame& f, const AddAttrs& a) {
  if (a.alpha == 1)
    run_elementwise(f, cpu::add_loops());
  else
    run_axpy(f, a.alpha);
}

void subtract_run(op::KernelFrame& f, const AddAttrs& a) {
  if (a.alpha == 1)
    run_elementwise(f, cpu::subtract_loops());
  else
    run_axpy(f, -a.alpha);
}

Tensor scaled(const Tensor& x, double factor) {
  return factor == 1 ? x : factor == -1 ? negative(x) : scale(x, factor);
}

Tensors add_grad(const GradCall& c, const AddAttrs& a) {
  return {c.needs(0) ? sum_like(c.dy(), c.in[0]) : Tensor(),
          c.needs(1) ? scaled(sum_like(c.dy(), c.in[1]), a.alpha) : Tensor()};
}

Tensors subtract_grad(const GradCall& c, const AddAttrs& a) {
  return {c.needs(0) ? sum_like(c.dy(), c.in[0]) : Tensor(),
          c.needs(1) ? scaled(sum_like(c.dy(), c.in[1]), -a.alpha) : Tensor()};
}

Tensors multiply_grad(const GradCall& c, const NoAttrs&) {
  return {c.needs(0) ? sum_like(multiply(c.dy(), conj_if_complex(c.in[1])), c.in[0]) : Tensor(),
          c.needs(1) ? sum_like(multiply(c.dy(), conj_if_complex(c.in[0])), c.in[1]) : Tensor()};
}

Tensors negative_grad(const GradCall& c, const NoAttrs&) {
  return negative(c.dy());
}

bool sums_plainly(const AddAttrs& a) {
  return a.alpha == 1;
}

ARGOSY_OP(add, AddAttrs)
    .python("add(x, y, name=None, *, alpha=1, out=None)")
    .method("add")
    .inplace("add_")
    .alias("input", "x")
    .alias("other", "y")
    .doc("x + alpha * y, elementwise with broadcasting; dtypes promote.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.add(x, y).tolist()
[5.0, 7.0, 6.0])")
    .input("x", kAny - kFloat8, Save::shape)
    .input("y", kAny - kFloat8, Save::shape)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", add_run)
    .strided()
    .on_loops()
    .gradient(add_grad)
    .sums(sums_plainly)
    .done();

ARGOSY_OP(subtract, AddAttrs)
    .python("subtract(x, y, name=None, *, alpha=1, out=None)")
    .python("sub(x, y, name=None, *, alpha=1, out=None)")
    .method("subtract")
    .method("sub(x, y, name=None, *, alpha=1, out=None)")
    .inplace("subtract_")
    .inplace("sub_")
    .alias("input", "x")
    .alias("other", "y")
    .doc("x - alpha * y, elementwise with broadcasting; dtypes promote.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.subtract(x, y).tolist()
[-3.0, 3.0, 0.0])")
    .input("x", kNumeric, Save::shape)
    .input("y", kNumeric, Save::shape)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", subtract_run)
    .strided()
    .on_loops()
    .gradient(subtract_grad)
    .done();

ARGOSY_OP(multiply, NoAttrs)
    .python("multiply(x, y, name=None, *, out=None)")
    .python("mul(x, y, name=None, *, out=None)")
    .method("multiply")
    .method("mul(x, y, name=None, *, out=None)")
    .inplace("multiply_")
    .inplace("mul_")
    .alias("input", "x")
    .alias("other", "y")
    .doc("x * y, elementwise with broadcasting; dtypes promote.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.multiply(x, y).tolist()
[4.0, 10.0, 9.0])")
    .input("x", kAny - kFloat8, Save::others)
    .input("y", kAny - kFloat8, Save::others)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", run_loops<cpu::multiply_loops>)
    .strided()
    .on_loops()
    .gradient(multiply_grad)
    .done();

void divide_infer(op::InferContext& c, const DivideAttrs& a) {
  ARGOSY_CHECK(!a.rounding_mode || *a.rounding_mode == "floor" || *a.rounding_mode == "trunc",
               invalid_argument)
      << "[divide] rounding_mode: expected None, 'floor' or 'trunc', got '" << *a.rounding_mode
      << "'.";
  if (!a.rounding_mode && !is_differentiable(c.in[0].dtype())) c.out[0].dtype = DType::float32;
}

void divide_run(op::KernelFrame& f, const DivideAttrs& a) {
  if (a.rounding_mode)
    return run_elementwise(
        f, *a.rounding_mode == "floor" ? cpu::floor_divide_loops() : cpu::trunc_divide_loops());
  if (is_differentiable(f.in[0].dtype())) return run_elementwise(f, cpu::divide_loops());
  const Place place = f.in[0].place();
  Tensor in[] = {Tensor::empty(f.in[0].shape(), DType::float32, place),
                 Tensor::empty(f.in[1].shape(), DType::float32, place)};
  for (size_t i = 0; i < 2; ++i) op::copy_into(in[i], f.in[i]);
  op::KernelFrame floats{f.op, op::Inputs(in), f.out};
  run_elementwise(floats, cpu::divide_loops());
}

Tensors divide_grad(const GradCall& c, const DivideAttrs& a) {
  if (a.rounding_mode)
    return {c.needs(0) ? zeros_like(c.in[0]) : Tensor(),
            c.needs(1) ? zeros_like(c.in[1]) : Tensor()};
  Tensor dx = divide(c.dy(), conj_if_complex(c.in[1])), dy;
  if (c.needs(1)) dy = sum_like(negative(multiply(dx, conj_if_complex(c.out(0)))), c.in[1]);
  return {c.needs(0) ? sum_like(dx, c.in[0]) : Tensor(), dy};
}

ARGOSY_OP(divide, DivideAttrs)
    .python("divide(x, y, name=None, *, rounding_mode=None, out=None)")
    .python("div(x, y, name=None, *, rounding_mode=None, out=None)")
    .method("divide")
    .method("div(x, y, name=None, *, rounding_mode=None, out=None)")
    .inplace("divide_")
    .inplace("div_")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "x / y, elementwise with broadcasting. Integers give float32. rounding_mode 'floor' and "
        "'trunc' round the quotient down or towards zero and keep the dtype.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.divide(x, y).tolist()
[0.25, 2.5, 1.0])")
    .input("x", kAny - kFloat8, Save::shape)
    .input("y", kAny - kFloat8, Save::value)
    .output("out", Save::value)
    .promote()
    .elementwise()
    .infer(divide_infer)
    .kernel("loops", divide_run)
    .strided()
    .on_loops()
    .gradient(divide_grad)
    .done();

ARGOSY_OP(negative, NoAttrs)
    .python("neg(x, name=None)")
    .python("negative(x, name=None)")
    .method("neg")
    .inplace("neg_")
    .alias("input", "x")
    .doc("-x.")
    .example(R"(>>> argosy.neg(argosy.to_tensor([-1.5, 0.0, 2.0])).tolist()
[1.5, -0.0, -2.0])")
    .input("x", kNumeric)
    .output("out")
    .elementwise()
    .kernel("loops", run_loops<cpu::negative_loops>)
    .strided()
    .on_loops()
    .gradient(negative_grad)
    .done();

Tensor conj_op_(const Tensor& x);

Tensors conj_grad(const GradCall& c, const NoAttrs&) {
  return conj_op_(c.dy());
}

void conj_run(op::KernelFrame& f, const NoAttrs&) {
  if (is_complex(f.in[0].dtype()))
    run_elementwise(f, cpu::conj_loops());
  else
    op::copy_into(f.out[0], f.in[0]);
}

ARGOSY_OP(conj, NoAttrs)
    .python("conj(x, name=None)")
    .method("conj")
    .alias("input", "x")
    .doc("The complex conjugate; real tensors are returned as they are.")
    .example(R"(>>> argosy.conj(argosy.to_tensor([3 + 4j, 1j])).tolist()
[(3-4j), -1j])")
    .input("x", kNumeric)
    .output("out")
    .elementwise()
    .kernel("loops", conj_run)
    .strided()
    .on_loops()
    .gradient(conj_grad)
    .done();

Tensor conj_op_(const Tensor& x) {
  return conj_op(x);
}

void cast_infer(op::InferContext& c, const CastAttrs& a) {
  c.out[0].dtype = a.dtype;
}

void cast_run(op::KernelFrame& f, const CastAttrs&) {
  op::copy_into(f.out[0], f.in[0]);
}

Tensors cast_grad(const GradCall& c, const CastAttrs&) {
  return cast(c.dy(), c.in[0].dtype());
}

ARGOSY_OP(cast, CastAttrs)
    .python("cast(x, dtype)")
    .method("cast")
    .method("astype")
    .inplace("cast_")
    .alias("input", "x")
    .doc("x with its elements converted to dtype. Floating to integer truncates towards zero.")
    .example(R"(>>> argosy.cast(argosy.to_tensor([1.7, -1.7]), "int32").tolist()
[1, -1])")
    .input("x", kAny, Save::shape)
    .output("out")
    .elementwise()
    .infer(cast_infer)
    .kernel("loops", cast_run)
    .strided()
    .on_loops()
    .gradient(cast_grad)
    .amp(op::Amp::never)
    .done();

void scale_infer(op::InferContext& c, const ScaleAttrs& a) {
  ARGOSY_CHECK(!a.act, not_implemented)
      << '[' << c.name() << "] act '" << *a.act
      << "' is no part of the operation. Do this: call argosy.scale, which applies it.";
}

void scale_run(op::KernelFrame& f, const ScaleAttrs& a) {
  cpu::LoopParams p{a.scale.real(), a.bias};
  run_elementwise(f, a.bias_after_scale ? cpu::scale_loops() : cpu::scale_after_bias_loops(), &p);
}

Tensors scale_grad(const GradCall& c, const ScaleAttrs& a) {
  if (a.scale.tensor.defined())  // a value of a Program
    return multiply(c.dy(), reshape(cast(a.scale.tensor, c.dy().dtype()), op::IntArray{}));
  return scale(c.dy(), a.scale.real());
}

ARGOSY_OP(scale, ScaleAttrs)
    .python("scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)")
    .method("scale")
    .inplace("scale_")
    .doc("x * scale + bias, or (x + bias) * scale with bias_after_scale=False.")
    .example(R"(>>> argosy.scale(argosy.to_tensor([1.0, 2.0]), scale=2.0, bias=1.0).tolist()
[3.0, 5.0]
>>> argosy.scale(argosy.to_tensor([1.0, 2.0]), 2.0, 1.0, bias_after_scale=False).tolist()
[4.0, 6.0])")
    .input("x", kNumeric)
    .output("out")
    .elementwise()
    .infer(scale_infer)
    .kernel("loops", scale_run)
    .strided()
    .on_loops()
    .gradient(scale_grad)
    .done();

[[maybe_unused]] const bool installed = [] {
  op::hooks.cast = cast;
  return true;
}();

}  // namespace

Tensor add(const Tensor& x, const Tensor& y) {
  return add_op(x, y);
}
Tensor add_(const Tensor& x, const Tensor& y) {
  const Tensor in[] = {x, y};
  AddAttrs attrs;
  return op::dispatch_inplace(add_op.def(), op::Inputs(in), &attrs);
}
Tensor subtract(const Tensor& x, const Tensor& y) {
  return subtract_op(x, y);
}
Tensor multiply(const Tensor& x, const Tensor& y) {
  return multiply_op(x, y);
}
Tensor divide(const Tensor& x, const Tensor& y) {
  return divide_op(x, y);
}
Tensor negative(const Tensor& x) {
  return negative_op(x);
}
Tensor conj_if_complex(const Tensor& x) {
  return is_complex(x.dtype()) ? conj_op(x) : x;
}
Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : cast_op(x, CastAttrs{dtype});
}
Tensor scale(const Tensor& x, double factor, double bias) {
  return scale_op(x, ScaleAttrs{factor, bias, true, {}});
}
void scale_instead(op::Instead& instead, int32_t operand, double factor) {
  scale_op.instead(instead, {operand}, ScaleAttrs{factor, 0, true, {}});
}

}  // namespace argosy::ops
