#include <algorithm>
#include <cstdlib>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/math/unary.h"

// Rounding, signs and absolute values.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

// Integers are whole already.
template <const cpu::LoopTable& (*kTable)()>
void run_rounding(op::KernelFrame& f, const NoAttrs&) {
  if (is_floating(f.in[0].dtype()))
    run_elementwise(f, kTable());
  else
    op::copy_into(f.out[0], f.in[0]);
}

template <class A>
Tensors zero_grad(const GradCall& c, const A&) {
  return zeros_like(c.dy());
}

#define ARGOSY_ROUNDING(name, signature, x, other, text) \
  ARGOSY_OP(name, NoAttrs)                               \
      .python(#name signature)                           \
      .method(#name)                                     \
      .inplace(#name "_")                                \
      .alias(other, x)                                   \
      .doc(text)                                         \
      .input(x, kReal)                                   \
      .output("out")                                     \
      .elementwise()                                     \
      .kernel("loops", run_rounding<cpu::name##_loops>)  \
      .strided()                                         \
      .on_loops()                                        \
      .gradient(zero_grad<NoAttrs>)

ARGOSY_ROUNDING(ceil, "(x, name=None, *, out=None)", "x", "input",
                "The smallest whole number not below x. The gradient is 0.")
    .example(R"(>>> argosy.ceil(argosy.to_tensor([-1.5, 0.2, 2.0])).tolist()
[-1.0, 1.0, 2.0])")
    .done();
ARGOSY_ROUNDING(floor, "(x, name=None, *, out=None)", "x", "input",
                "The largest whole number not above x. The gradient is 0.")
    .example(R"(>>> argosy.floor(argosy.to_tensor([-1.5, 0.2, 2.0])).tolist()
[-2.0, 0.0, 2.0])")
    .done();
ARGOSY_ROUNDING(trunc, "(input, name=None)", "input", "x",
                "The number without its fraction, rounded towards 0. The gradient is 0.")
    .example(R"(>>> argosy.trunc(argosy.to_tensor([-1.5, 0.2, 2.7])).tolist()
[-1.0, 0.0, 2.0])")
    .done();

void frac_run(op::KernelFrame& f, const NoAttrs&) {
  if (is_floating(f.in[0].dtype()))
    run_elementwise(f, cpu::frac_loops());
  else
    op::copy_into(f.out[0], constant(0, f.in[0].dtype(), f.in[0].place()));
}
Tensors identity_grad(const GradCall& c, const NoAttrs&) {
  return c.dy();
}

ARGOSY_OP(frac, NoAttrs)
    .python("frac(x, name=None, *, out=None)")
    .method("frac")
    .inplace("frac_")
    .alias("input", "x")
    .doc("x - trunc(x): the fraction, with x's sign.")
    .example(R"(>>> argosy.frac(argosy.to_tensor([-1.5, 0.2, 2.0])).tolist()
[-0.5, 0.2, 0.0])")
    .input("x", kReal)
    .output("out")
    .elementwise()
    .kernel("loops", frac_run)
    .strided()
    .on_loops()
    .gradient(identity_grad)
    .done();

void round_run(op::KernelFrame& f, const RoundAttrs& a) {
  if (!is_floating(f.in[0].dtype())) return op::copy_into(f.out[0], f.in[0]);
  if (a.decimals == 0) return run_elementwise(f, cpu::round_loops());
  // Beyond the exponents of double nothing is rounded away, or everything is.
  constexpr int64_t kMostDecimals = 308;
  if (a.decimals > kMostDecimals) return op::copy_into(f.out[0], f.in[0]);
  const int64_t places = std::min(kMostDecimals, std::abs(std::max(a.decimals, -kMostDecimals)));
  double factor = 1;
  for (int64_t i = 0; i < places; ++i) factor *= 10;
  dispatch_floating(f.in[0].dtype(), [&]<class T>(T) {
    const T* x = f.in[0].data<T>();
    T* y = f.out[0].data<T>();
    for (int64_t i = 0; i < f.in[0].numel(); ++i) {
      double v = static_cast<double>(x[i]);
      double moved = a.decimals > 0 ? v * factor : v / factor;
      moved = __builtin_nearbyint(moved);
      y[i] = static_cast<T>(a.decimals > 0 ? moved / factor : moved * factor);
    }
  });
}

ARGOSY_OP(round, RoundAttrs)
    .python("round(x, decimals=0, name=None, *, out=None)")
    .method("round")
    .inplace("round_")
    .alias("input", "x")
    .doc(
        "x rounded to `decimals` places after the point (before it if negative), halves to even. "
        "The gradient is 0.")
    .example(R"(>>> argosy.round(argosy.to_tensor([-1.5, 0.2, 2.7])).tolist()
[-2.0, 0.0, 3.0])")
    .input("x", kReal)
    .output("out")
    .elementwise()
    .kernel("loops", round_run)
    .gradient(zero_grad<RoundAttrs>)
    .done();

// A complex sign turns with x: its derivative is what of dy is not along it, over |x|.
Tensors sign_grad(const GradCall& c, const NoAttrs&) {
  if (!is_complex(c.dy().dtype())) return zeros_like(c.dy());
  const Tensor& y = c.out(0);
  Tensor along = real(multiply(conj_if_complex(y), c.dy()));
  Tensor size = cast(abs(c.in[0]), y.dtype());
  return divide(subtract(c.dy(), multiply(y, cast(along, y.dtype()))), size);
}

#define ARGOSY_SIGN(name, signature, text)         \
  ARGOSY_OP(name, NoAttrs)                         \
      .python(#name signature)                     \
      .method(#name)                               \
      .alias("input", "x")                         \
      .doc(text)                                   \
      .input("x", kNumeric, Save::value)           \
      .output("out", Save::value)                  \
      .elementwise()                               \
      .kernel("loops", run_loops<cpu::sign_loops>) \
      .strided()                                   \
      .on_loops()                                  \
      .gradient(sign_grad)

ARGOSY_SIGN(sign, "(x, name=None, *, out=None)",
            "-1, 0 or 1 as x is negative, zero or positive; x / |x| of complex x, 0 at 0.")
    .example(R"(>>> argosy.sign(argosy.to_tensor([-1.5, 0.0, 2.0])).tolist()
[-1.0, 0.0, 1.0])")
    .done();
ARGOSY_SIGN(sgn, "(x, name=None)",
            "-1, 0 or 1 as x is negative, zero or positive; x / |x| of complex x, 0 at 0.")
    .example(R"(>>> argosy.sgn(argosy.to_tensor([-1.5, 0.0, 2.0])).tolist()
[-1.0, 0.0, 1.0])")
    .done();

void abs_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0].dtype = real_of(c.out[0].dtype);
}

Tensors abs_grad_parts(const op::Inputs& in, const NoAttrs&) {
  return multiply(in[1], sign(in[0]));
}

Tensor abs_curve(const Tensor&) {
  return {};
}

ARGOSY_FUSED_GRADIENT(abs, "x", "dy sign(x), the gradient of |x|.");

Tensors abs_grad_rule(const GradCall& c, const NoAttrs&) {
  const Tensor& x = c.in[0];
  if (!is_complex(x.dtype())) return abs_grad_op(x, c.dy());
  return multiply(cast(c.dy(), x.dtype()), sign(x));
}

ARGOSY_OP(abs, NoAttrs)
    .python("abs(x, name=None, *, out=None)")
    .method("abs")
    .inplace("abs_")
    .alias("input", "x")
    .doc("|x|; of complex x the modulus, which is real.")
    .example(R"(>>> argosy.abs(argosy.to_tensor([-1.5, 0.0, 2.0])).tolist()
[1.5, 0.0, 2.0])")
    .input("x", kNumeric, Save::value)
    .output("out")
    .elementwise()
    .infer(abs_infer)
    .kernel("loops", run_loops<cpu::absolute_loops>)
    .strided()
    .on_loops()
    .gradient(abs_grad_rule)
    .done();

}  // namespace

Tensor abs(const Tensor& x) {
  return abs_op(x);
}
Tensor floor(const Tensor& x) {
  return floor_op(x);
}
Tensor round(const Tensor& x) {
  return round_op(x);
}
Tensor sign(const Tensor& x) {
  return sign_op(x);
}

}  // namespace argosy::ops
