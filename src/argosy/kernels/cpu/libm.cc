#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "argosy/kernels/cpu/simd/tables.h"

// Functions that are not worth vectorizing: double precision and complex by the C and C++
// libraries, special functions. One element at a time, any strides.
namespace argosy::cpu {
namespace {

template <auto f, class R, class A>
void each(char* const* ptrs, const int64_t* strides, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i) {
    const A& a = *reinterpret_cast<const A*>(ptrs[0] + i * strides[0]);
    *reinterpret_cast<R*>(ptrs[1] + i * strides[1]) = static_cast<R>(f(a));
  }
}

template <auto f, class T>
void each_pair(char* const* ptrs, const int64_t* strides, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i) {
    const T& a = *reinterpret_cast<const T*>(ptrs[0] + i * strides[0]);
    const T& b = *reinterpret_cast<const T*>(ptrs[1] + i * strides[1]);
    *reinterpret_cast<T*>(ptrs[2] + i * strides[2]) = static_cast<T>(f(a, b));
  }
}

constexpr Loop& entry(LoopTable& t, DType d) {
  return t.by_dtype[static_cast<int>(d)];
}

template <auto f>
constexpr void set_double(LoopTable& t) {
  entry(t, DType::float64) = each<f, double, double>;
}
template <auto f>
constexpr void set_complex(LoopTable& t) {
  entry(t, DType::complex64) = each<f, complex64, complex64>;
  entry(t, DType::complex128) = each<f, complex128, complex128>;
}
// Computed in double for every floating dtype.
template <auto f>
constexpr void set_floating(LoopTable& t) {
  entry(t, DType::float16) = each<f, float16, float16>;
  entry(t, DType::bfloat16) = each<f, bfloat16, bfloat16>;
  entry(t, DType::float32) = each<f, float, float>;
  set_double<f>(t);
}

constexpr auto kPi = std::numbers::pi;

double erfinv(double y) {
  double a = std::fabs(y);
  if (!(a < 1)) return a == 1 ? std::copysign(INFINITY, y) : NAN;
  // Winitzki's estimate, then Halley's iteration on erf, or on erfc where 1 - erf would cancel.
  double l = std::log1p(-a * a), c = 2 / (kPi * 0.147) + l / 2;
  double x = std::sqrt(std::sqrt(c * c - l / 0.147) - c);
  for (int i = 0; i < 3; ++i) {
    double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    double step = error / (2 / std::sqrt(kPi) * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

double digamma(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  double result = 0;
  if (x < 0) {
    if (x == std::floor(x)) return NAN;
    result = -kPi / std::tan(kPi * (x - std::floor(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  double u = 1 / (x * x);
  double series = u * (1.0 / 12 - u * (1.0 / 120 - u * (1.0 / 252 - u * (1.0 / 240 - u / 132))));
  return result + std::log(x) - 0.5 / x - series;
}

double lgamma_of(double x) {
  int sign;
  return lgamma_r(x, &sign);  // std::lgamma writes a global
}

// 1 / (k (k + order)), the ratios of the terms of the series below: 25 takes less than 60.
template <int order>
constexpr std::array<double, 64> kBesselRatios = [] {
  std::array<double, 64> ratios{};
  for (int k = 1; k < 64; ++k) ratios[static_cast<size_t>(k)] = 1.0 / (k * (k + order));
  return ratios;
}();

// Modified Bessel functions of order 0 and 1, or those times e^-|x|.
template <int order, bool scaled>
double bessel(double x) {
  double a = std::fabs(x), sum, term;
  if (a < 25) {
    double u = a * a / 4;
    sum = term = order ? a / 2 : 1;
    for (size_t k = 1; term > sum * 1e-17; ++k) sum += term *= u * kBesselRatios<order>[k];
    if (scaled) sum *= std::exp(-a);
  } else {
    double mu = 4.0 * order;
    sum = term = 1;
    for (int k = 1; k < 25 && std::fabs(term) > 1e-17; ++k) {
      term *= -(mu - (2 * k - 1) * (2 * k - 1)) / (8 * a * k);
      sum += term;
    }
    sum /= std::sqrt(2 * kPi * a);
    if (!scaled) sum *= std::exp(a);
  }
  if (std::isinf(a)) sum = scaled ? 0 : INFINITY;
  return order ? std::copysign(sum, x) : sum;
}

constexpr MathLoops make() {
  MathLoops t{};
#define ARGOSY_LIBM(name, real_form, complex_form)        \
  set_double<[](double x) { return real_form; }>(t.name); \
  set_complex<[]<class T>(std::complex<T> x) { return complex_form; }>(t.name)
#define ARGOSY_LIBM_SAME(name) ARGOSY_LIBM(name, std::name(x), std::name(x))
  set_complex<[](auto x) { return std::sqrt(x); }>(t.sqrt);
  set_complex<[]<class T>(std::complex<T> x) { return T(1) / std::sqrt(x); }>(t.rsqrt);
  ARGOSY_LIBM_SAME(exp);
  ARGOSY_LIBM(expm1, std::expm1(x), std::exp(x) - T(1));
  set_double<[](double x) { return std::exp2(x); }>(t.exp2);
  ARGOSY_LIBM_SAME(log);
  ARGOSY_LIBM(log2, std::log2(x), std::log(x) / std::numbers::ln2_v<T>);
  ARGOSY_LIBM_SAME(log10);
  ARGOSY_LIBM(log1p, std::log1p(x), std::log(T(1) + x));
  ARGOSY_LIBM_SAME(sin);
  ARGOSY_LIBM_SAME(cos);
  ARGOSY_LIBM_SAME(tan);
  ARGOSY_LIBM_SAME(asin);
  ARGOSY_LIBM_SAME(acos);
  ARGOSY_LIBM_SAME(atan);
  ARGOSY_LIBM_SAME(sinh);
  ARGOSY_LIBM_SAME(cosh);
  ARGOSY_LIBM_SAME(tanh);
  ARGOSY_LIBM_SAME(asinh);
  ARGOSY_LIBM_SAME(acosh);
  ARGOSY_LIBM_SAME(atanh);
  ARGOSY_LIBM(sigmoid, 1 / (1 + std::exp(-x)), T(1) / (T(1) + std::exp(-x)));
  set_double<[](double x) { return std::erf(x); }>(t.erf);
  set_floating<[](double x) { return std::erfc(x); }>(t.erfc);
  set_double<[](double x) { return erfinv(x); }>(t.erfinv);
  set_floating<[](double x) { return lgamma_of(x); }>(t.lgamma);
  set_floating<[](double x) { return digamma(x); }>(t.digamma);
  set_floating<bessel<0, false>>(t.i0);
  set_floating<bessel<0, true>>(t.i0e);
  set_floating<bessel<1, false>>(t.i1);
  set_floating<bessel<1, true>>(t.i1e);
  set_floating<[](double x) { return x < 0 ? kPi : x != x ? x : 0.0; }>(t.angle);
  set_floating<[](double x) { return x; }>(t.real);
  set_floating<[](double x) { return x; }>(t.conj);
  set_floating<[](double) { return 0.0; }>(t.imag);
#undef ARGOSY_LIBM_SAME
#undef ARGOSY_LIBM
  set_complex<[](auto x) { return std::conj(x); }>(t.conj);
  constexpr auto kReal = [](auto x) { return x.real(); };
  constexpr auto kImag = [](auto x) { return x.imag(); };
  constexpr auto kAngle = [](auto x) { return std::arg(x); };
  entry(t.real, DType::complex64) = each<kReal, float, complex64>;
  entry(t.real, DType::complex128) = each<kReal, double, complex128>;
  entry(t.imag, DType::complex64) = each<kImag, float, complex64>;
  entry(t.imag, DType::complex128) = each<kImag, double, complex128>;
  entry(t.angle, DType::complex64) = each<kAngle, float, complex64>;
  entry(t.angle, DType::complex128) = each<kAngle, double, complex128>;
  return t;
}

double logaddexp(double a, double b) {
  if (a == b) return a + std::numbers::ln2;
  if (a != a || b != b) return NAN;
  return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

constexpr Math2Loops make2() {
  Math2Loops t{};
  constexpr auto kPow = [](auto a, auto b) { return std::pow(a, b); };
  entry(t.pow, DType::float64) = each_pair<kPow, double>;
  entry(t.pow, DType::complex64) = each_pair<kPow, complex64>;
  entry(t.pow, DType::complex128) = each_pair<kPow, complex128>;
  constexpr auto kAtan2 = [](double a, double b) { return std::atan2(a, b); };
  constexpr auto kHypot = [](double a, double b) { return std::hypot(a, b); };
  constexpr auto kLdexp = [](double a, double b) { return a * std::exp2(b); };
  entry(t.atan2, DType::float64) = each_pair<kAtan2, double>;
  entry(t.hypot, DType::float64) = each_pair<kHypot, double>;
  entry(t.ldexp, DType::float64) = each_pair<kLdexp, double>;
  entry(t.logaddexp, DType::float64) = each_pair<logaddexp, double>;
  return t;
}

}  // namespace

constexpr MathLoops kMath = make();
constexpr Math2Loops kMath2 = make2();
const MathLoops libm_loops = kMath;
const Math2Loops libm2_loops = kMath2;

}  // namespace argosy::cpu
