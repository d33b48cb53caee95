#define ARGOSY_VECTOR_DOUBLE
#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/special.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <auto op>
consteval Draft each() {
  return unary<op>(Types<double>{});
}
template <auto op>
consteval Draft each_pair() {
  return binary<op>(Types<double>{});
}

// sin, cos, tan: reduction by pi / 2 holds up to kTrigLimit; the C library does the few beyond.
template <auto op, auto fallback>
void trig_contiguous(char* const* ptrs, int64_t n, const void*) {
  constexpr int kBlock = 256;
  const double* in = reinterpret_cast<const double*>(ptrs[0]);
  double* out = reinterpret_cast<double*>(ptrs[1]);
  double x[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int m = n - begin < kBlock ? static_cast<int>(n - begin) : kBlock;
    int64_t beyond = 0;
    for (int i = 0; i < m; ++i) x[i] = in[begin + i];
    for (int i = 0; i < m; ++i) beyond |= abs_of(x[i]) >= kTrigLimit<double>;
    for (int i = 0; i < m; ++i) out[begin + i] = op(x[i]);
    if (!beyond) continue;
    for (int i = 0; i < m; ++i) {
      if (abs_of(x[i]) >= kTrigLimit<double>) out[begin + i] = fallback(x[i]);
    }
  }
}
template <auto op, auto fallback>
consteval Draft trig() {
  return Draft{}.add(DType::float64, loop_of<trig_contiguous<op, fallback>, 1, Form::w8, Form::w8>);
}

// The C library does the negative ones.
void lgamma_contiguous(char* const* ptrs, int64_t n, const void*) {
  constexpr int kBlock = 256;
  const float* in = reinterpret_cast<const float*>(ptrs[0]);
  float* out = reinterpret_cast<float*>(ptrs[1]);
  float x[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int m = n - begin < kBlock ? static_cast<int>(n - begin) : kBlock;
    int beyond = 0;
    for (int i = 0; i < m; ++i) x[i] = in[begin + i];
    for (int i = 0; i < m; ++i) beyond |= x[i] <= 0;
    for (int i = 0; i < m; ++i) out[begin + i] = static_cast<float>(lgamma_positive(double{x[i]}));
    if (!beyond) continue;
    for (int i = 0; i < m; ++i) {
      int sign;
      if (x[i] <= 0) out[begin + i] = static_cast<float>(__builtin_lgamma_r(double{x[i]}, &sign));
    }
  }
}
consteval Draft lgamma_draft() {
  Draft t;
  t.add(DType::float16, loop_of<lgamma_contiguous, 1, Form::f16, Form::f16>);
  t.add(DType::bfloat16, loop_of<lgamma_contiguous, 1, Form::bf16, Form::bf16>);
  t.add(DType::float32, loop_of<lgamma_contiguous, 1, Form::w4, Form::w4>);
  return t;
}
template <auto op>
consteval Draft small() {
  return unary<op>(Types<float16, bfloat16, float>{});
}

// Squares of what is huge or tiny are taken of a multiple of it.
constexpr auto kHypot = [](double a, double b) {
  const double x = abs_of(a), y = abs_of(b), high = x > y ? x : y;
  const double scale = high > 1e150 ? 0x1p-600 : high < 1e-130 ? 0x1p600 : 1.0;
  const double back = high > 1e150 ? 0x1p600 : high < 1e-130 ? 0x1p-600 : 1.0;
  const double u = x * scale, v = y * scale;
  const double r = sqrt_of(fma_of(u, u, v * v)) * back;
  return (x == kInf<double>) | (y == kInf<double>) ? kInf<double> : r;
};
constexpr auto kLogaddexp = [](double a, double b) {
  const double high = a > b ? a : b;
  double v = high + log1p_of(exp_of(-abs_of(a - b)));
  v = a == b ? high + 0.69314718055994531 : v;
  return (a != a) | (b != b) ? a + b : v;
};

constexpr MathLoops make() {
  MathLoops t{};
  t.exp = each<[](double x) { return exp_of(x); }>();
  t.expm1 = each<[](double x) { return expm1_of(x); }>();
  t.exp2 = each<[](double x) { return exp2_of(x); }>();
  t.log = each<[](double x) { return log_of(x); }>();
  t.log2 = each<[](double x) { return log2_of(x); }>();
  t.log10 = each<[](double x) { return log10_of(x); }>();
  t.log1p = each<[](double x) { return log1p_of(x); }>();
  t.asin = each<[](double x) { return asin_of(x); }>();
  t.acos = each<[](double x) { return acos_of(x); }>();
  t.atan = each<[](double x) { return atan_of(x); }>();
  t.sinh = each<[](double x) { return sinh_of(x); }>();
  t.cosh = each<[](double x) { return cosh_of(x); }>();
  t.tanh = each<[](double x) { return tanh_of(x); }>();
  t.asinh = each<[](double x) { return asinh_of(x); }>();
  t.acosh = each<[](double x) { return acosh_of(x); }>();
  t.atanh = each<[](double x) { return atanh_of(x); }>();
  t.sigmoid = each<[](double x) { return sigmoid_of(x); }>();
  t.erf = each<[](double x) { return erf_of(x); }>();
  t.erfc = each<[](double x) { return erfc_of(x); }>();
  t.erfinv = each<[](double x) { return erfinv_of(x); }>();
  t.angle = unary<[](auto z) { return atan2_of(double{z.im}, double{z.re}); }, Real>(Complexes{});
  t.lgamma = lgamma_draft();
  t.i0 = small<kI0>();
  t.i0e = small<kI0e>();
  t.i1 = small<kI1>();
  t.i1e = small<kI1e>();
  t.sin = trig<[](double x) { return sin_core_double(x); },
               [](double x) { return __builtin_sin(x); }>();
  t.cos = trig<[](double x) { return cos_core_double(x); },
               [](double x) { return __builtin_cos(x); }>();
  t.tan = trig<[](double x) { return tan_core_double(x); },
               [](double x) { return __builtin_tan(x); }>();
  return t;
}
constexpr Math2Loops make2() {
  Math2Loops t{};
  t.atan2 = each_pair<[](double a, double b) { return atan2_of(a, b); }>();
  t.hypot = each_pair<kHypot>();
  t.logaddexp = each_pair<kLogaddexp>();
  return t;
}
constexpr MathLoops kLoops = make();
constexpr Math2Loops kLoops2 = make2();

}  // namespace

const MathLoops double_math_loops = kLoops;
const Math2Loops double_math2_loops = kLoops2;

}  // namespace argosy::cpu::ARGOSY_ISA
