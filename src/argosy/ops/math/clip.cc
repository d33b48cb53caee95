#include <cmath>
#include <limits>

#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Limits, blends and repairs of values.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;
using op::Scalar;

constexpr double kInf = std::numeric_limits<double>::infinity();

cpu::LoopParams bounds(const ClipAttrs& a) {
  return {a.min ? a.min->real() : -kInf, a.max ? a.max->real() : kInf};
}

bool is_real_number(const std::optional<Scalar>& s) {
  if (!s) return false;
  return s->tensor.defined() ? is_floating(s->tensor.dtype()) : s->kind == Scalar::Kind::real;
}

void clip_infer(op::InferContext& c, const ClipAttrs& a) {
  ARGOSY_CHECK(!(a.min && a.max && !a.min->tensor.defined() && !a.max->tensor.defined() &&
                 a.min->real() > a.max->real()),
               invalid_argument)
      << "[clip] min must not be above max, got min " << a.min->real() << " and max "
      << a.max->real() << ". Do this: swap them.";
  if (is_integral(c.in[0].dtype()) && (is_real_number(a.min) || is_real_number(a.max)))
    c.out[0].dtype = DType::float32;
}

void clip_run(op::KernelFrame& f, const ClipAttrs& a) {
  cpu::LoopParams p = bounds(a);
  if (f.in[0].dtype() == f.out[0].dtype()) return run_elementwise(f, cpu::clip_loops(), &p);
  Tensor x = Tensor::empty(f.in[0].shape(), f.out[0].dtype(), f.in[0].place());
  op::copy_into(x, f.in[0]);
  op::KernelFrame floats{f.op, op::Inputs({&x, 1}), f.out};
  run_elementwise(floats, cpu::clip_loops(), &p);
}

Tensor bound_of(const Scalar& s, const Tensor& x) {
  return s.tensor.defined() ? cast(s.tensor, x.dtype()) : constant(s, x.dtype(), x.place());
}

Tensors clip_grad_parts(const op::Inputs& in, const ClipAttrs& a) {
  Tensor dx = in[1];
  if (a.min) dx = multiply(dx, cast(greater_equal(in[0], bound_of(*a.min, in[0])), dx.dtype()));
  if (a.max) dx = multiply(dx, cast(less_equal(in[0], bound_of(*a.max, in[0])), dx.dtype()));
  return dx;
}

void clip_grad_run(op::KernelFrame& f, const ClipAttrs& a) {
  cpu::LoopParams p = bounds(a);
  run_elementwise(f, cpu::clip_grad_loops(), &p);
}

Tensors clip_grad_second(const GradCall& c, const ClipAttrs& a);

ARGOSY_OP(clip_grad, ClipAttrs)
    .doc("dy where min <= x <= max, else 0: the gradient of clip.")
    .input("x", kFloating, Save::value)
    .input("dy", kFloating)
    .output("dx")
    .elementwise()
    .compose(clip_grad_parts)
    .kernel("fused", clip_grad_run)
    .strided()
    .on_loops()
    .gradient(clip_grad_second)
    .done();

Tensors clip_grad_second(const GradCall& c, const ClipAttrs& a) {
  return {Tensor(), clip_grad_op(c.in[0], c.dy(), a)};
}

Tensors clip_gradient(const GradCall& c, const ClipAttrs& a) {
  return clip_grad_op(c.in[0], c.dy(), a);
}

ARGOSY_OP(clip, ClipAttrs)
    .python("clip(x, min=None, max=None, name=None, *, out=None)")
    .python("clamp(x, min=None, max=None, name=None, *, out=None)")
    .method("clip")
    .method("clamp(x, min=None, max=None, name=None, *, out=None)")
    .inplace("clip_")
    .inplace("clamp_")
    .alias("input", "x")
    .doc(
        "x limited to [min, max], which may be None (no limit), numbers or tensors of one element; "
        "nan stays. The gradient passes where x is not outside. Integers with a limit that is a "
        "float give float32.")
    .example(R"(>>> argosy.clip(argosy.to_tensor([-1.0, 0.5, 9.0]), 0.0, 1.0).tolist()
[0.0, 0.5, 1.0])")
    .input("x", kReal, Save::value)
    .output("out")
    .elementwise()
    .infer(clip_infer)
    .kernel("loops", clip_run)
    .strided()
    .on_loops()
    .gradient(clip_gradient)
    .done();

Tensors lerp_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1], &w = c.in[2];
  Tensor to_y = multiply(c.dy(), w);
  return {c.needs(0) ? sum_like(subtract(c.dy(), to_y), x) : Tensor(),
          c.needs(1) ? sum_like(to_y, y) : Tensor(),
          c.needs(2) ? sum_like(multiply(c.dy(), subtract(y, x)), w) : Tensor()};
}

ARGOSY_OP(lerp, NoAttrs)
    .python("lerp(x, y, weight, name=None)")
    .method("lerp")
    .inplace("lerp_")
    .alias("input", "x")
    .doc("x + weight (y - x), elementwise with broadcasting; weight may be a number.")
    .example(
        R"(>>> argosy.lerp(argosy.to_tensor([0.0, 10.0]), argosy.to_tensor([10.0, 20.0]), 0.25).tolist()
[2.5, 12.5])")
    .input("x", kFloating, Save::value)
    .input("y", kFloating, Save::value)
    .input("weight", kFloating, Save::value)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", run_loops<cpu::lerp_loops>)
    .strided()
    .on_loops()
    .gradient(lerp_grad)
    .done();

void nan_to_num_run(op::KernelFrame& f, const NanToNumAttrs& a) {
  const DType t = f.in[0].dtype();
  const cpu::LoopParams numbers{a.nan, a.posinf.value_or(largest(t)),
                                a.neginf.value_or(-largest(t))};
  run_elementwise(f, cpu::host_loops().nan_to_num, &numbers);
}

Tensors nan_to_num_grad(const GradCall& c, const NanToNumAttrs&) {
  return multiply(c.dy(), cast(isfinite(c.in[0]), c.dy().dtype()));
}

ARGOSY_OP(nan_to_num, NanToNumAttrs)
    .python("nan_to_num(x, nan=0.0, posinf=None, neginf=None, name=None)")
    .method("nan_to_num")
    .inplace("nan_to_num_")
    .doc(
        "x with nan, +inf and -inf replaced; without posinf and neginf by the dtype's largest and "
        "smallest numbers.")
    .example(
        R"(>>> argosy.nan_to_num(argosy.to_tensor([1.0, float("nan"), float("inf")]), nan=0.0, posinf=9.0).tolist()
[1.0, 0.0, 9.0])")
    .input("x", kFloating, Save::value)
    .output("out")
    .elementwise()
    .kernel("loops", nan_to_num_run)
    .strided()
    .gradient(nan_to_num_grad)
    .done();

// --- mantissa and exponent ---

void frexp_run(op::KernelFrame& f, const NoAttrs&) {
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    const T* x = f.in[0].data<T>();
    for (int64_t i = 0; i < f.in[0].numel(); ++i) {
      int e = 0;
      f.out[0].data<T>()[i] = std::frexp(x[i], &e);
      f.out[1].data<T>()[i] = static_cast<T>(e);
    }
  });
}

Tensors frexp_grad(const GradCall& c, const NoAttrs&) {
  const Tensor& e = c.out(1);
  return multiply(c.dy(), pow(constant(2, e.dtype(), e.place()), negative(e)));
}

ARGOSY_OP(frexp, NoAttrs)
    .python("frexp(x, name=None)")
    .method("frexp")
    .doc(
        "(mantissa, exponent), both of x's dtype: x = mantissa * 2^exponent with 0.5 <= |mantissa| "
        "< 1, or both 0.")
    .example(R"(>>> mantissa, exponent = argosy.frexp(argosy.to_tensor([8.0, 0.75]))
>>> mantissa.tolist(), exponent.tolist()
([0.5, 0.75], [4.0, 0.0]))")
    .input("x", only(DType::float32) | only(DType::float64))
    .output("mantissa")
    .index_output("exponent", Save::value)
    .elementwise()
    .kernel("reference", frexp_run)
    .gradient(frexp_grad)
    .done();

}  // namespace

double largest(DType t) {
  switch (t) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 3.3895313892515355e38;
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Tensor clip(const Tensor& x, double min, double max) {
  ClipAttrs a;
  if (min > -kInf) a.min = Scalar(min);
  if (max < kInf) a.max = Scalar(max);
  return clip_op(x, a);
}

}  // namespace argosy::ops
