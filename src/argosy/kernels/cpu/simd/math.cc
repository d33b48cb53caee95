#include "argosy/kernels/cpu/simd/math.h"

#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// float32 and, through it, the 16-bit floats. Double and complex are in libm.cc.
using Small = Types<float16, bfloat16, float>;

template <auto op>
consteval Draft small() {
  return unary<op>(Small{});
}

// sin, cos, tan: reduction by pi / 2 holds up to kTrigLimit<float>; the C library does the few
// beyond.
template <auto op, auto fallback>
void trig_contiguous(char* const* ptrs, int64_t n, const void*) {
  constexpr int kBlock = 256;
  const float* in = reinterpret_cast<const float*>(ptrs[0]);
  float* out = reinterpret_cast<float*>(ptrs[1]);
  float x[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int m = n - begin < kBlock ? static_cast<int>(n - begin) : kBlock;
    int beyond = 0;
    for (int i = 0; i < m; ++i) x[i] = in[begin + i];
    for (int i = 0; i < m; ++i) beyond |= abs_of(x[i]) >= kTrigLimit<float>;
    for (int i = 0; i < m; ++i) out[begin + i] = static_cast<float>(op(x[i]));
    if (!beyond) continue;
    for (int i = 0; i < m; ++i) {
      if (abs_of(x[i]) >= kTrigLimit<float>) out[begin + i] = fallback(x[i]);
    }
  }
}
template <auto op, auto fallback>
consteval Draft trig() {
  Draft t;
  constexpr Contiguous kKernel = trig_contiguous<op, fallback>;
  t.add(DType::float16, loop_of<kKernel, 1, Form::f16, Form::f16>);
  t.add(DType::bfloat16, loop_of<kKernel, 1, Form::bf16, Form::bf16>);
  t.add(DType::float32, loop_of<kKernel, 1, Form::w4, Form::w4>);
  return t;
}

constexpr auto kSqrt = [](auto x) { return sqrt_of(x); };
constexpr auto kRsqrt = [](auto x) { return 1 / sqrt_of(x); };
constexpr auto kExp = [](float x) { return exp_of(x); };
constexpr auto kExpm1 = [](float x) { return expm1_of(x); };
constexpr auto kExp2 = [](float x) { return exp_core(x * 0.69314718055994531); };
constexpr auto kLog = [](float x) { return log_of(x); };
constexpr auto kLog2 = [](float x) { return log_core(x) * 1.4426950408889634; };
constexpr auto kLog10 = [](float x) { return log_core(x) * 0.43429448190325183; };
constexpr auto kLog1p = [](float x) { return log1p_of(x); };
constexpr auto kSin = [](float x) { return sin_core(x); };
constexpr auto kCos = [](float x) { return cos_core(x); };
constexpr auto kTan = [](float x) { return tan_core(x); };
constexpr auto kSinSlow = [](float x) { return __builtin_sinf(x); };
constexpr auto kCosSlow = [](float x) { return __builtin_cosf(x); };
constexpr auto kTanSlow = [](float x) { return __builtin_tanf(x); };
constexpr auto kAsin = [](float x) {
  double d = x;
  return atan_core(d / sqrt_of((1 - d) * (1 + d)));
};
constexpr auto kAcos = [](float x) {
  double d = x;
  return 2 * atan_core(sqrt_of((1 - d) / (1 + d)));
};
constexpr auto kAtan = [](float x) { return atan_core(x); };
constexpr auto kSinh = [](float x) {
  double d = x, d2 = d * d;
  double near = d * polynomial(d2, 1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040);
  double e = exp_core(abs_of(d));
  double far = copysign_of(0.5 * (e - 1 / e), d);
  return abs_of(d) < 0.125 ? near : far;
};
constexpr auto kCosh = [](float x) {
  double e = exp_core(abs_of(double{x}));
  return 0.5 * (e + 1 / e);
};
constexpr auto kTanh = [](float x) { return tanh_of(x); };
constexpr auto kAsinh = [](float x) {
  double d = x, a = abs_of(d);
  double near = d * polynomial(d * d, 1.0, -1.0 / 6, 3.0 / 40, -15.0 / 336);
  double far = copysign_of(log_core(a + sqrt_of(a * a + 1)), d);
  return a < 0.03125 ? near : far;
};
constexpr auto kAcosh = [](float x) {
  double t = double{x} - 1;
  double v = log1p_core(t + sqrt_of(t * (t + 2)));
  return t < 0 ? kNan<double> : v;
};
constexpr auto kAtanh = [](float x) {
  double d = x;
  double near = d * polynomial(d * d, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7);
  double far = 0.5 * log_core((1 + d) / (1 - d));
  return abs_of(d) < 0.03125 ? near : far;
};
constexpr auto kSigmoid = [](float x) { return sigmoid_of(x); };
// x times a fit of erfinv(x) / x, as a function of w = -log(1 - x^2) or of its root; relative error
// below 1e-9 up to the largest float32 below 1.
ARGOSY_INLINE double erfinv_core(double x) {
  double w = -log_core((1 - x) * (1 + x));
  double u = w - 3.125, v = sqrt_of(w) - 3.35;
  double near = polynomial(u, 1.653654562683224, 0.24015817844734516, -0.006033671032295682,
                           -0.0007406910325410063, 0.00018673466052819817, -1.3892141246886546e-05,
                           -1.3658217557996507e-06, 4.269851391553759e-07, -2.8958959384652436e-08,
                           -4.752745637237614e-09, 1.036388144838581e-09, 5.688217032871547e-12,
                           -1.2570811432984129e-11);
  double far = polynomial(v, 3.1844616983782115, 1.0062298094715671, 0.004379514691885187,
                          -0.0029061416045093047, 0.001778045082042962, -0.0011846040418977777,
                          0.000716801019585109, -0.00033028264582950613, 6.50280211396123e-05,
                          4.919224714991441e-05, -3.171015971656739e-05);
  double result = x * (w < 6.25 ? near : far);
  result = abs_of(x) == 1 ? copysign_of(kInf<double>, x) : result;
  return abs_of(x) <= 1 ? result : kNan<double>;
}
constexpr auto kErfinv = [](float x) { return erfinv_core(x); };
constexpr auto kErf = [](float x) { return erf_of(x); };

constexpr auto kFloor = [](auto x) {
  return sizeof(x) == 4 ? __builtin_floorf(x) : __builtin_floor(x);
};
constexpr auto kCeil = [](auto x) {
  return sizeof(x) == 4 ? __builtin_ceilf(x) : __builtin_ceil(x);
};
constexpr auto kRound = [](auto x) {
  return sizeof(x) == 4 ? __builtin_rintf(x) : __builtin_rint(x);
};
constexpr auto kTrunc = [](auto x) {
  return sizeof(x) == 4 ? __builtin_truncf(x) : __builtin_trunc(x);
};
constexpr auto kFrac = [](auto x) { return x - kTrunc(x); };
constexpr auto kSame = [](auto x) { return x; };
constexpr auto kZero = [](auto x) { return x - x; };
constexpr auto kDegrees = [](auto x) {
  return x * static_cast<decltype(x)>(57.295779513082320877);
};
constexpr auto kRadians = [](auto x) {
  return x * static_cast<decltype(x)>(0.017453292519943295769);
};

template <auto op, auto integer_op = kSame>
consteval Draft rounding() {
  return unary<op>(Floats{}) | and_signed(unary<integer_op>(Unsigned{}));
}

constexpr MathLoops make() {
  MathLoops t{};
  t.sqrt = unary<kSqrt>(Floats{});
  t.rsqrt = unary<kRsqrt>(Floats{});
  t.exp = small<kExp>();
  t.expm1 = small<kExpm1>();
  t.exp2 = small<kExp2>();
  t.log = small<kLog>();
  t.log2 = small<kLog2>();
  t.log10 = small<kLog10>();
  t.log1p = small<kLog1p>();
  t.sin = trig<kSin, kSinSlow>();
  t.cos = trig<kCos, kCosSlow>();
  t.tan = trig<kTan, kTanSlow>();
  t.asin = small<kAsin>();
  t.acos = small<kAcos>();
  t.atan = small<kAtan>();
  t.sinh = small<kSinh>();
  t.cosh = small<kCosh>();
  t.tanh = small<kTanh>();
  t.asinh = small<kAsinh>();
  t.acosh = small<kAcosh>();
  t.atanh = small<kAtanh>();
  t.sigmoid = small<kSigmoid>();
  t.erf = small<kErf>();
  t.erfinv = small<kErfinv>();
  t.floor = rounding<kFloor>();
  t.ceil = rounding<kCeil>();
  t.round = rounding<kRound>();
  t.trunc = rounding<kTrunc>();
  t.frac = rounding<kFrac, kZero>();
  t.deg2rad = unary<kRadians>(Floats{});
  t.rad2deg = unary<kDegrees>(Floats{});
  return t;
}
constexpr MathLoops kLoops = make();

}  // namespace

const MathLoops math_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
