#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/math/unary.h"
#include "argosy/ops/reduce/reduce.h"

// Functions of two numbers.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

// --- pow ---

// x^e with one number for all, by the fast forms of common exponents.
Tensor power(const Tensor& x, double e) {
  if (e == 0) return ones_like(x);
  if (e == 1) return x;
  if (e == 2) return square(x);
  if (is_differentiable(x.dtype())) {
    if (e == 0.5) return sqrt(x);
    if (e == -0.5) return rsqrt(x);
    if (e == -1) return reciprocal(x);
    if (e == 3) return multiply(x, square(x));
  }
  return {};
}

// The value of a 0-d constant exponent; false if it is no constant number.
bool number_of(const Tensor& y, double* value) {
  if (y.rank() != 0 || !y.has_data() || y.symbolic() || y.requires_grad() ||
      y.place().kind != DeviceKind::cpu)
    return false;
  return dispatch_types<int32_t, int64_t, float16, bfloat16, float, double>(
      y.dtype(), [&]<class T>(T) { *value = static_cast<double>(*y.data<T>()); });
}

// The loop of one operand for x^e, or null.
const cpu::LoopTable* loop_of_power(const Tensor& x, double e) {
  const bool floating = is_floating(x.dtype()), on_cpu = x.place().kind == DeviceKind::cpu;
  if (e == 2) return &cpu::square_loops();
  if (on_cpu && (e == 3 || e == 4 || e == 5) && (floating || is_integral(x.dtype())))
    return &cpu::host_loops().whole_power;
  if (on_cpu && floating && (e == -2 || e == -3)) return &cpu::host_loops().whole_power;
  if (!is_differentiable(x.dtype())) return nullptr;
  if (e == 0.5) return &cpu::sqrt_loops();
  if (e == -0.5) return &cpu::rsqrt_loops();
  return e == -1 ? &cpu::reciprocal_loops() : nullptr;
}

void pow_run(op::KernelFrame& f, const NoAttrs&) {
  double e;
  if (number_of(f.in[1], &e)) {
    if (const cpu::LoopTable* fast = loop_of_power(f.in[0], e)) {
      op::KernelFrame one{f.op, op::Inputs(f.in.flat().subspan(0, 1)), f.out};
      const cpu::LoopParams params{.a = e};
      return run_elementwise(one, *fast, &params);
    }
  }
  run_elementwise(f, cpu::pow_loops(), nullptr, 12);
}

Tensors pow_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1];
  Tensor dx, dy;
  if (c.needs(0)) {
    double e;
    if (number_of(y, &e)) {
      Tensor lower = power(x, e - 1);
      if (!lower.defined()) lower = pow(x, constant(e - 1, x.dtype(), x.place()));
      dx = e == 0 ? zeros_like(c.dy()) : scale(chain(c.dy(), lower), e);
    } else {
      Tensor one = constant(1, y.dtype(), y.place());
      dx = chain(c.dy(), multiply(y, pow(x, subtract(y, one))));
    }
    dx = sum_like(dx, x);
  }
  if (c.needs(1)) dy = sum_like(chain(c.dy(), multiply(c.out(0), log(x))), y);
  return {dx, dy};
}

ARGOSY_OP(pow, NoAttrs)
    .python("pow(x, y, name=None, *, out=None)")
    .method("pow")
    .inplace("pow_")
    .alias("input", "x")
    .alias("exponent", "y")
    .doc(
        "x to the power y, elementwise with broadcasting. Integers stay integers, and negative "
        "powers of them round towards 0.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.pow(x, y).tolist()
[1.0, 25.0, 27.0])")
    .input("x", kNumeric, Save::value)
    .input("y", kNumeric, Save::value)
    .output("out", Save::value)
    .promote()
    .elementwise()
    .kernel("loops", pow_run)
    .strided()
    .on_loops()
    .gradient(pow_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- functions of floating numbers; integers compute in a floating dtype ---

Tensors atan2_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1];
  Tensor scaled = divide(c.dy(), add(square(x), square(y)));
  return {c.needs(0) ? sum_like(multiply(scaled, y), x) : Tensor(),
          c.needs(1) ? sum_like(negative(multiply(scaled, x)), y) : Tensor()};
}

Tensors hypot_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1];
  Tensor scaled = divide(c.dy(), c.out(0));
  return {c.needs(0) ? sum_like(multiply(scaled, x), x) : Tensor(),
          c.needs(1) ? sum_like(multiply(scaled, y), y) : Tensor()};
}

Tensors logaddexp_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1];
  return {c.needs(0) ? sum_like(multiply(c.dy(), sigmoid(subtract(x, y))), x) : Tensor(),
          c.needs(1) ? sum_like(multiply(c.dy(), sigmoid(subtract(y, x))), y) : Tensor()};
}

// |d/dx| is 1, with the sign that x was given; 0 at 0.
Tensors copysign_grad(const GradCall& c, const NoAttrs&) {
  Tensor dx;
  if (c.needs(0)) dx = sum_like(multiply(c.dy(), multiply(sign(c.in[0]), sign(c.out(0)))), c.in[0]);
  return {dx, c.needs(1) ? zeros_like(c.in[1]) : Tensor()};
}

Tensors heaviside_grad(const GradCall& c, const NoAttrs&) {
  const Tensor& x = c.in[0];
  Tensor dy;
  if (c.needs(1)) {
    Tensor zero = equal(x, constant(0, x.dtype(), x.place()));
    dy = sum_like(multiply(c.dy(), cast(zero, c.dy().dtype())), c.in[1]);
  }
  return {c.needs(0) ? zeros_like(x) : Tensor(), dy};
}

// Both operands as the output's dtype.
template <const cpu::LoopTable& (*kTable)()>
void run_floating2(op::KernelFrame& f, const NoAttrs&) {
  DType t = f.out[0].dtype();
  if (f.in[0].dtype() == t) return run_elementwise(f, kTable(), nullptr, 12);
  const Place place = f.in[0].place();
  Tensor in[] = {Tensor::empty(f.in[0].shape(), t, place),
                 Tensor::empty(f.in[1].shape(), t, place)};
  for (size_t i = 0; i < 2; ++i) op::copy_into(in[i], f.in[i]);
  op::KernelFrame floats{f.op, op::Inputs(in), f.out};
  run_elementwise(floats, kTable(), nullptr, 12);
}

void infer_double(op::InferContext& c, const NoAttrs&) {
  if (!is_floating(c.out[0].dtype)) c.out[0].dtype = DType::float64;
}

#define ARGOSY_FUNCTION2(name, save_out, infer_dtype, text) \
  ARGOSY_OP(name, NoAttrs)                                  \
      .python(#name "(x, y, name=None)")                    \
      .method(#name)                                        \
      .doc(text)                                            \
      .input("x", kReal, Save::value)                       \
      .input("y", kReal, Save::value)                       \
      .output("out", save_out)                              \
      .promote()                                            \
      .elementwise()                                        \
      .infer(infer_dtype)                                   \
      .kernel("loops", run_floating2<cpu::name##_loops>)    \
      .strided()                                            \
      .on_loops()                                           \
      .gradient(name##_grad)

ARGOSY_FUNCTION2(atan2, Save::nothing, infer_double,
                 "The angle of the point (y, x), in [-pi, pi] radians, elementwise with "
                 "broadcasting. Integers give float64.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.atan2(x, y).tolist()
[0.24498, 1.1903, 0.7854])")
    .promote_0d()
    .done();
ARGOSY_FUNCTION2(hypot, Save::value, infer_floating<NoAttrs>,
                 "sqrt(x^2 + y^2) without overflow, elementwise with broadcasting.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.hypot(x, y).tolist()
[4.1231, 5.3852, 4.2426])")
    .inplace("hypot_")
    .done();
ARGOSY_FUNCTION2(logaddexp, Save::nothing, infer_floating<NoAttrs>,
                 "log(e^x + e^y) without overflow, elementwise with broadcasting.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.logaddexp(x, y).tolist()
[4.0486, 5.0486, 3.6931])")
    .promote_0d()
    .done();

void copysign_run(op::KernelFrame& f, const NoAttrs&) {
  if (is_floating(f.in[0].dtype())) return run_elementwise(f, cpu::copysign_loops());
  // Integers have no negative zero: |x| with the sign of y.
  Tensor positive = Tensor::empty(f.in[0].shape(), f.in[0].dtype(), f.in[0].place());
  Tensors outs{positive};
  op::KernelFrame one{f.op, op::Inputs(f.in.flat().subspan(0, 1)), outs};
  run_elementwise(one, cpu::absolute_loops());
  Tensor zero = constant(0, f.in[1].dtype(), f.in[1].place());
  Tensor minus = negative(positive);
  Tensor below = less_than(f.in[1], zero);
  const Tensor in[] = {below, minus, positive};
  op::KernelFrame pick{f.op, op::Inputs(in), f.out};
  run_elementwise(pick, cpu::where_loops(), nullptr, 1, 1);
}

ARGOSY_OP(copysign, NoAttrs)
    .python("copysign(x, y, name=None)")
    .method("copysign")
    .inplace("copysign_")
    .doc("|x| with the sign of y (also of -0.0), elementwise with broadcasting.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.copysign(x, y).tolist()
[1.0, 5.0, 3.0])")
    .input("x", kReal, Save::value)
    .input("y", kReal, Save::shape)
    .output("out", Save::value)
    .promote()
    .elementwise()
    .kernel("loops", copysign_run)
    .strided()
    .on_loops()
    .gradient(copysign_grad)
    .done();

ARGOSY_OP(nextafter, NoAttrs)
    .python("nextafter(x, y, name=None)")
    .method("nextafter")
    .doc("The next number after x in the direction of y, elementwise. It has no gradient.")
    .example(
        R"(>>> (argosy.nextafter(argosy.to_tensor([1.0]), argosy.to_tensor([2.0])) > 1.0).tolist()
[True])")
    .input("x", only(DType::float32) | only(DType::float64))
    .input("y", only(DType::float32) | only(DType::float64))
    .index_output("out")
    .promote_0d()
    .elementwise()
    .kernel("loops", run_loops<cpu::nextafter_loops, 6>)
    .strided()
    .on_loops()
    .done();

ARGOSY_OP(heaviside, NoAttrs)
    .python("heaviside(x, y, name=None)")
    .method("heaviside")
    .doc("0 where x < 0, y where x == 0, 1 where x > 0, elementwise with broadcasting.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.heaviside(x, y).tolist()
[1.0, 1.0, 1.0])")
    .input("x", kReal, Save::value)
    .input("y", kReal, Save::shape)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", run_loops<cpu::heaviside_loops>)
    .strided()
    .on_loops()
    .gradient(heaviside_grad)
    .done();

// x stays what it is if floating; the exponent follows it.
DType ldexp_dtype(DType x) {
  return is_floating(x) && !kHalf.has(x) ? x : DType::float32;
}
void ldexp_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0].dtype = ldexp_dtype(c.in[0].dtype());
}
Tensors ldexp_parts(const op::Inputs& in, const NoAttrs&) {
  DType t = ldexp_dtype(in[0].dtype());
  Tensor two = constant(2, t, in[0].place());
  return multiply(cast(in[0], t), pow(two, cast(in[1], t)));
}

ARGOSY_OP(ldexp, NoAttrs)
    .python("ldexp(x, y, name=None)")
    .method("ldexp")
    .inplace("ldexp_")
    .doc("x * 2^y, elementwise with broadcasting. All but float64 give float32.")
    .example(R"(>>> argosy.ldexp(argosy.to_tensor([1.0, 3.0]), argosy.to_tensor([2, -1])).tolist()
[4.0, 1.5])")
    .input("x", kReal)
    .input("y", kReal)
    .output("out")
    .elementwise()
    .infer(ldexp_infer)
    .compose(ldexp_parts)
    .done();

}  // namespace

Tensor pow(const Tensor& x, const Tensor& y) {
  return pow_op(x, y);
}
Tensor pow(const Tensor& x, double y) {
  return pow_op(x,
                constant(y, is_differentiable(x.dtype()) ? x.dtype() : DType::float32, x.place()));
}

}  // namespace argosy::ops
