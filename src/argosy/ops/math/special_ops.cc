#include "argosy/base/parallel.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/math/special.h"
#include "argosy/ops/math/unary.h"
#include "argosy/ops/reduce/reduce.h"

// Error functions, gamma functions, Bessel functions.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

constexpr double kPi = 3.14159265358979323846;
constexpr double kTwoOverRootPi = 1.12837916709551257390;

Tensor zero_mask(const Tensor& x) {
  return cast(equal(x, constant(0, x.dtype(), x.place())), x.dtype());
}

Tensors erf_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), scale(exp(negative(square(c.in[0]))), kTwoOverRootPi));
}
Tensors erfinv_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), scale(exp(square(c.out(0))), 1 / kTwoOverRootPi));
}

ARGOSY_FUNCTION(erf, "(x, name=None)", kReal, Save::value, Save::nothing, 8,
                "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.")
    .example(R"(>>> argosy.erf(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.5205, 0.8427, 0.99532])")
    .done();
ARGOSY_FUNCTION(erfinv, "(x, name=None)", kReal, Save::nothing, Save::value, 60,
                "The inverse of erf; infinite at -1 and 1, nan outside.")
    .example(R"(>>> argosy.erfinv(argosy.to_tensor([-0.5, 0.0, 0.5])).tolist()
[-0.47694, 0.0, 0.47694])")
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- gamma functions ---

void check_order(op::InferContext& c, const PolygammaAttrs& a) {
  ARGOSY_CHECK(a.n >= 0, invalid_argument)
      << "[polygamma] the order n must not be negative, got " << a.n << '.';
  ARGOSY_CHECK(a.n <= 60, not_implemented)
      << "[polygamma] orders above 60 are not computed, got " << a.n << '.';
  infer_floating(c, a);
}

void polygamma_run(op::KernelFrame& f, const PolygammaAttrs& a) {
  if (a.n == 0) return run_floating(f, cpu::digamma_loops(), nullptr, 30);
  Tensor x = f.in[0];
  if (x.dtype() != f.out[0].dtype()) {
    x = Tensor::empty(x.shape(), f.out[0].dtype());
    op::copy_into(x, f.in[0]);
  }
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    constexpr int64_t kBlock = 256;
    const T* from = x.data<T>();
    T* to = f.out[0].data<T>();
    parallel_for(x.numel(), kBlock, [&](int64_t begin, int64_t end) {
      double in[kBlock], out[kBlock];
      for (; begin < end; begin += kBlock) {
        const int64_t count = std::min(kBlock, end - begin);
        for (int64_t i = 0; i < count; ++i) in[i] = static_cast<double>(from[begin + i]);
        special::polygamma(static_cast<int>(a.n), in, out, count, !std::is_same_v<T, double>);
        for (int64_t i = 0; i < count; ++i) to[begin + i] = static_cast<T>(out[i]);
      }
    });
  });
}

Tensor polygamma_of(const Tensor& x, int64_t n);
Tensor digamma_of(const Tensor& x);

Tensors polygamma_grad(const GradCall& c, const PolygammaAttrs& a) {
  return multiply(c.dy(), polygamma_of(c.in[0], a.n + 1));
}

ARGOSY_OP(polygamma, PolygammaAttrs)
    .python("polygamma(x, n, name=None)")
    .method("polygamma")
    .inplace("polygamma_")
    .doc("The n-th derivative of digamma; digamma itself for n = 0.")
    .example(R"(>>> argosy.polygamma(argosy.to_tensor([1.0, 2.0]), 1).tolist()
[1.6449, 0.64493])")
    .input("x", kReal, Save::value)
    .output("out")
    .elementwise()
    .infer(check_order)
    .kernel("reference", polygamma_run)
    .gradient(polygamma_grad)
    .done();

Tensors lgamma_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), digamma_of(c.in[0]));
}
Tensors digamma_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), polygamma_of(c.in[0], 1));
}

ARGOSY_OP(lgamma, NoAttrs)
    .python("lgamma(x, name=None)")
    .python("gammaln(x, name=None)")
    .method("lgamma")
    .method("gammaln(x, name=None)")
    .inplace("lgamma_")
    .inplace("gammaln_")
    .alias("input", "x")
    .doc("The logarithm of |gamma(x)|.")
    .example(R"(>>> argosy.lgamma(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.57236, 0.0, 0.0])")
    .input("x", kReal, Save::value)
    .output("out")
    .elementwise()
    .infer(infer_floating<NoAttrs>)
    .kernel("loops", run_function<cpu::lgamma_loops, 30>)
    .strided()
    .on_loops()
    .gradient(lgamma_grad_rule)
    .done();

ARGOSY_FUNCTION(digamma, "(x, name=None)", kReal, Save::value, Save::nothing, 30,
                "The derivative of the logarithm of gamma(x).")
    .example(R"(>>> argosy.digamma(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[-1.9635, -0.57722, 0.42278])")
    .done();

void check_dimension(const MultigammalnAttrs& a) {
  ARGOSY_CHECK(a.p >= 1, invalid_argument)
      << "[multigammaln] the dimension p must be at least 1, got " << a.p << '.';
}

Tensors multigammaln_parts(const op::Inputs& in, const MultigammalnAttrs& a) {
  check_dimension(a);
  double p = static_cast<double>(a.p);
  Tensor sum;
  for (int64_t j = 0; j < a.p; ++j) {
    Tensor term = lgamma_op(scale(in[0], 1, -0.5 * static_cast<double>(j)));
    sum = sum.defined() ? add(sum, term) : term;
  }
  return scale(sum, 1, p * (p - 1) / 4 * 1.14472988584940017414);  // log(pi)
}

void multigammaln_infer(op::InferContext&, const MultigammalnAttrs& a) {
  check_dimension(a);
}

ARGOSY_OP(multigammaln, MultigammalnAttrs)
    .python("multigammaln(x, p, name=None)")
    .method("multigammaln")
    .inplace("multigammaln_")
    .doc(
        "The logarithm of the multivariate gamma function of dimension p: log(pi) p (p - 1) / 4 "
        "plus the sum over j < p of lgamma(x - j / 2).")
    .example(R"(>>> argosy.multigammaln(argosy.to_tensor([2.5, 3.0]), 2).tolist()
[0.85705, 1.5502])")
    .input("x", kFloating)
    .output("out")
    .elementwise()
    .infer(multigammaln_infer)
    .compose(multigammaln_parts)
    .done();

template <double (*kFunction2)(double, double)>
void run_incomplete(op::KernelFrame& f, const NoAttrs&) {
  dispatch_floating(f.in[0].dtype(), [&]<class T>(T) {
    static const cpu::Loop loop = [](char* const* ptrs, const int64_t* strides, int64_t n,
                                     const void*) {
      for (int64_t i = 0; i < n; ++i) {
        auto a = static_cast<double>(*reinterpret_cast<const T*>(ptrs[0] + i * strides[0]));
        auto x = static_cast<double>(*reinterpret_cast<const T*>(ptrs[1] + i * strides[1]));
        *reinterpret_cast<T*>(ptrs[2] + i * strides[2]) = static_cast<T>(kFunction2(a, x));
      }
    };
    cpu::LoopTable table;
    table.by_dtype[static_cast<int>(f.in[0].dtype())] = loop;
    run_elementwise(f, table, nullptr, 100);
  });
}

// exp(-y) y^(a - 1) / gamma(a) for the upper limit y; a has no gradient.
template <int kSign>
Tensors incomplete_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &a = c.in[0], &y = c.in[1];
  if (!c.needs(1)) return {Tensor(), Tensor()};
  Tensor exponent = subtract(multiply(scale(a, 1, -1), log(y)), add(y, lgamma_op(a)));
  Tensor dy = sum_like(multiply(c.dy(), exp(exponent)), y);
  return {Tensor(), kSign > 0 ? dy : negative(dy)};
}

#define ARGOSY_INCOMPLETE(name, function, sign, text)         \
  ARGOSY_OP(name, NoAttrs)                                    \
      .python(#name "(x, y, name=None)")                      \
      .method(#name)                                          \
      .inplace(#name "_")                                     \
      .doc(text)                                              \
      .input("x", kFloating, Save::value)                     \
      .input("y", kFloating, Save::value)                     \
      .output("out")                                          \
      .promote()                                              \
      .elementwise()                                          \
      .kernel("reference", run_incomplete<special::function>) \
      .strided()                                              \
      .gradient(incomplete_grad<sign>)

ARGOSY_INCOMPLETE(gammainc, gamma_lower, 1,
                  "The regularized lower incomplete gamma function: the integral of t^(x-1) e^-t "
                  "from 0 to y over gamma(x). Only y has a gradient.")
    .example(
        R"(>>> argosy.gammainc(argosy.to_tensor([0.5, 2.0]), argosy.to_tensor([1.0, 1.0])).tolist()
[0.8427, 0.26424])")
    .done();
ARGOSY_INCOMPLETE(gammaincc, gamma_upper, -1,
                  "The regularized upper incomplete gamma function, 1 - gammainc(x, y). Only y has "
                  "a gradient.")
    .example(
        R"(>>> argosy.gammaincc(argosy.to_tensor([0.5, 2.0]), argosy.to_tensor([1.0, 1.0])).tolist()
[0.1573, 0.73576])")
    .done();

// --- Bessel functions ---

Tensor i0_of(const Tensor& x);
Tensor i0e_of(const Tensor& x);
Tensor i1_of(const Tensor& x);
Tensor i1e_of(const Tensor& x);

// y / x, and 1/2 + x^2 / 16 at 0: i1 grows like that times x there, i1e as far as its first slope.
Tensor over_x(const Tensor& y, const Tensor& x) {
  Tensor zero = zero_mask(x);
  Tensor away = divide(multiply(y, scale(zero, -1, 1)), add(x, zero));
  return add(away, multiply(zero, scale(multiply(x, x), 1.0 / 16, 0.5)));
}

Tensors i0_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), i1_of(c.in[0]));
}
Tensors i0e_grad_rule(const GradCall& c, const NoAttrs&) {
  const Tensor& x = c.in[0];
  return multiply(c.dy(), subtract(i1e_of(x), multiply(sign(x), c.out(0))));
}
Tensors i1_grad_rule(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), subtract(i0_of(c.in[0]), over_x(c.out(0), c.in[0])));
}
Tensors i1e_grad_rule(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.out(0);
  Tensor slope = subtract(i0e_of(x), add(multiply(sign(x), y), over_x(y, x)));
  return multiply(c.dy(), slope);
}

ARGOSY_FUNCTION(i0, "(x, name=None)", kReal, Save::value, Save::nothing, 20,
                "The modified Bessel function of the first kind of order 0.")
    .example(R"(>>> argosy.i0(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[1.0635, 1.2661, 2.2796])")
    .done();
ARGOSY_FUNCTION(i0e, "(x, name=None)", kReal, Save::value, Save::value, 20,
                "exp(-|x|) i0(x), which does not overflow.")
    .example(R"(>>> argosy.i0e(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.64504, 0.46576, 0.30851])")
    .done();
ARGOSY_FUNCTION(i1, "(x, name=None)", kReal, Save::value, Save::value, 20,
                "The modified Bessel function of the first kind of order 1.")
    .example(R"(>>> argosy.i1(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.25789, 0.56516, 1.5906])")
    .done();
ARGOSY_FUNCTION(i1e, "(x, name=None)", kReal, Save::value, Save::value, 20,
                "exp(-|x|) i1(x), which does not overflow.")
    .example(R"(>>> argosy.i1e(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.15642, 0.20791, 0.21527])")
    .done();

// --- logit, sinc ---

Tensors logit_parts(const op::Inputs& in, const LogitAttrs& a) {
  Tensor x = is_floating(in[0].dtype()) ? in[0] : cast(in[0], DType::float32);
  if (a.eps) x = clip(x, *a.eps, 1 - *a.eps);
  return subtract(log(x), log(scale(x, -1, 1)));
}

ARGOSY_OP(logit, LogitAttrs)
    .python("logit(x, eps=None, name=None)")
    .method("logit")
    .inplace("logit_")
    .doc(
        "log(x / (1 - x)), the inverse of sigmoid; nan outside [0, 1]. With eps, x is first "
        "limited to [eps, 1 - eps].")
    .example(R"(>>> argosy.logit(argosy.to_tensor([0.25, 0.5])).tolist()
[-1.0986, 0.0])")
    .input("x", kReal)
    .output("out")
    .elementwise()
    .infer(infer_floating<LogitAttrs>)
    .compose(logit_parts)
    .done();

Tensors sinc_parts(const op::Inputs& in, const NoAttrs&) {
  Tensor zero = zero_mask(in[0]);
  Tensor angle = scale(add(in[0], zero), kPi);
  // At 0 the beginning of the series, whose derivatives are right up to the fifth.
  Tensor square = multiply(in[0], scale(in[0], kPi * kPi));
  Tensor series = scale(multiply(square, scale(square, 1.0 / 120, -1.0 / 6)), 1, 1);
  return add(multiply(divide(sin(angle), angle), scale(zero, -1, 1)), multiply(zero, series));
}

ARGOSY_OP(sinc, NoAttrs)
    .python("sinc(x, name=None)")
    .method("sinc")
    .inplace("sinc_")
    .doc("sin(pi x) / (pi x), 1 at 0.")
    .example(R"(>>> argosy.sinc(argosy.to_tensor([0.5, 1.0, 2.0])).tolist()
[0.63662, -2.7828e-08, 2.7828e-08])")
    .input("x", kFloating | kComplex)
    .output("out")
    .elementwise()
    .compose(sinc_parts)
    .done();

Tensor polygamma_of(const Tensor& x, int64_t n) {
  return polygamma_op(x, PolygammaAttrs{n});
}
Tensor digamma_of(const Tensor& x) {
  return digamma_op(x);
}
Tensor i0_of(const Tensor& x) {
  return i0_op(x);
}
Tensor i0e_of(const Tensor& x) {
  return i0e_op(x);
}
Tensor i1_of(const Tensor& x) {
  return i1_op(x);
}
Tensor i1e_of(const Tensor& x) {
  return i1e_op(x);
}

}  // namespace
}  // namespace argosy::ops
