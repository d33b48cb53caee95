#pragma once

#include "argosy/kernels/cpu/simd/map.h"

// Elementary functions without branches or calls, so that loops over them vectorize. float32
// results are within 2 units in the last place of the exact value; the functions that go through
// double (`_core`) round once. Polynomials are minimax fits of the functions named.
namespace argosy::cpu::ARGOSY_ISA {

ARGOSY_INLINE float fma_of(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
ARGOSY_INLINE double fma_of(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
ARGOSY_INLINE float abs_of(float x) {
  return __builtin_fabsf(x);
}
ARGOSY_INLINE double abs_of(double x) {
  return __builtin_fabs(x);
}
ARGOSY_INLINE float sqrt_of(float x) {
  return __builtin_sqrtf(x);
}
ARGOSY_INLINE double sqrt_of(double x) {
  return __builtin_sqrt(x);
}
ARGOSY_INLINE float copysign_of(float x, float s) {
  return __builtin_copysignf(x, s);
}
ARGOSY_INLINE double copysign_of(double x, double s) {
  return __builtin_copysign(x, s);
}
template <class T>
inline constexpr T kInf = static_cast<T>(__builtin_inf());
template <class T>
inline constexpr T kNan = static_cast<T>(__builtin_nan(""));

template <class T>
ARGOSY_INLINE T polynomial(T, T c) {
  return c;
}
template <class T, class... C>
ARGOSY_INLINE T polynomial(T x, T c, C... rest) {
  return fma_of(x, polynomial(x, static_cast<T>(rest)...), c);
}

// ---- double, relative error below 1e-12: for float32 results ----

// 0 below about -300, and for the sake of float32 exact only up to 300.
ARGOSY_INLINE double exp_core(double x) {
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer in the low bits
  x = x > 300 ? 300 : x;
  x = x < -300 ? -300 : x;
  double t = fma_of(x, 1.4426950408889634, kShift);
  double k = t - kShift;
  double r = fma_of(k, -6.93147180369123816490e-01, x);
  r = fma_of(k, -1.90821492927058770002e-10, r);
  double p = polynomial(r, 0.49999999999603367, 0.16666666666572699, 0.041666666989326945,
                        0.0083333333868424106, 0.0013888807543319479, 0.00019841165087019949,
                        2.4882292073029086e-05, 2.7642974439450623e-06);
  double e = fma_of(r * r, p, r) + 1;
  uint64_t scale = __builtin_bit_cast(uint64_t, e) + (__builtin_bit_cast(uint64_t, t) << 52);
  double result = __builtin_bit_cast(double, scale);
  return x == x ? result : x;
}

// REQUIRES: x is normal, 0, infinite or nan. Negative: nan.
ARGOSY_INLINE double log_core(double x) {
  uint64_t bits = __builtin_bit_cast(uint64_t, x);
  uint64_t mantissa = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  double m = __builtin_bit_cast(double, mantissa);
  double e = __builtin_bit_cast(double, bits >> 52 | 0x4330000000000000) - 4503599627371519.0;
  bool high = m > 1.4142135623730951;
  m = high ? m * 0.5 : m;
  e = high ? e + 1 : e;
  double f = m - 1;
  double s = f / (2 + f);
  double s2 = s * s;
  double p = polynomial(s2, 0.66666666675820296, 0.39999995614744727, 0.28572109962893011,
                        0.22176152967440088, 0.19584694824706569);
  double result = fma_of(e, 0.69314718055994531, s * fma_of(s2, p, 2.0));
  result = x == 0 ? -kInf<double> : result;
  result = x < 0 ? kNan<double> : result;
  return x < kInf<double> ? result : x;  // inf and nan
}

ARGOSY_INLINE double log1p_core(double x) {
  double near = x * fma_of(x, fma_of(x, 1.0 / 3, -0.5), 1.0);
  double far = log_core(1 + x);
  return abs_of(x) < 1e-4 ? near : far;
}

ARGOSY_INLINE double expm1_core(double x) {
  double near = x * fma_of(x, fma_of(x, 1.0 / 6, 0.5), 1.0);
  double far = exp_core(x) - 1;
  return abs_of(x) < 1e-4 ? near : far;
}

ARGOSY_INLINE double atan_core(double x) {
  double a = abs_of(x);
  bool big = a > 2.414213562373095, middle = a > 0.4142135623730950;
  double numerator = big ? -1.0 : middle ? a - 1 : a;
  double denominator = big ? a : middle ? a + 1 : 1.0;
  double offset = big ? 1.5707963267948966 : middle ? 0.78539816339744831 : 0.0;
  double t = numerator / denominator;
  double u = t * t;
  double p = polynomial(u, -0.33333333333261472, 0.19999999982945432, -0.14285712889399327,
                        0.11111054910994597, -0.090896235061717151, 0.076744016802118203,
                        -0.065107221897894182, 0.05038879122862544, -0.025492930827552586);
  return copysign_of(offset + fma_of(t * u, p, t), x);
}

// Quadrant (low two bits) and remainder of x / (pi / 2). REQUIRES: |x| < 2^50.
struct Reduced {
  int64_t quadrant;
  double r;
};
// Of float32; double.
template <class T>
inline constexpr T kTrigLimit = static_cast<T>(1125899906842624.0);
template <>
inline constexpr double kTrigLimit<double> = 1048576;
ARGOSY_INLINE Reduced reduce_angle(double x) {
  constexpr double kShift = 6755399441055744.0;
  double t = fma_of(x, 0.63661977236758134, kShift);
  double n = t - kShift;
  double r = fma_of(n, -1.5707963267948966, x);
  r = fma_of(n, -6.123233995736766e-17, r);
  return {__builtin_bit_cast(int64_t, t), r};
}
ARGOSY_INLINE double sin_poly(double r) {
  double u = r * r;
  double p = polynomial(u, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800);
  return r * fma_of(u, p, 1.0);
}
ARGOSY_INLINE double cos_poly(double r) {
  double u = r * r;
  double p =
      polynomial(u, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600);
  return fma_of(u, p, 1.0);
}
ARGOSY_INLINE double flip(double v, int64_t sign_bit) {
  return __builtin_bit_cast(double, __builtin_bit_cast(int64_t, v) ^ sign_bit << 63);
}
ARGOSY_INLINE double sin_core(double x) {
  Reduced a = reduce_angle(x);
  double v = a.quadrant & 1 ? cos_poly(a.r) : sin_poly(a.r);
  return flip(v, a.quadrant >> 1 & 1);
}
ARGOSY_INLINE double cos_core(double x) {
  Reduced a = reduce_angle(x);
  double v = a.quadrant & 1 ? sin_poly(a.r) : cos_poly(a.r);
  return flip(v, (a.quadrant + 1) >> 1 & 1);
}
ARGOSY_INLINE double tan_core(double x) {
  Reduced a = reduce_angle(x);
  double s = sin_poly(a.r), c = cos_poly(a.r);
  double numerator = a.quadrant & 1 ? -c : s;
  double denominator = a.quadrant & 1 ? s : c;
  return numerator / denominator;
}

// ---- float32 ----

ARGOSY_INLINE float exp_of(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
  float clamped = x > 89 ? 89.0f : x;
  clamped = clamped < -104 ? -104.0f : clamped;
  float t = fma_of(clamped, 1.44269504f, kShift);
  float k = t - kShift;
  float r = fma_of(k, -0.693359375f, clamped);
  r = fma_of(k, 2.12194440e-4f, r);
  float p = polynomial(r, 0.50000001f, 0.166665189f, 0.0416662059f, 0.00836888786f, 0.00139504862f);
  float e = fma_of(r * r, p, r) + 1;
  // 2^k in two factors: k runs from -150 (denormal results) to 128.
  uint32_t whole = __builtin_bit_cast(uint32_t, t) - __builtin_bit_cast(uint32_t, kShift);
  uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(whole) >> 1);
  float f1 = __builtin_bit_cast(float, (half + 127) << 23);
  float f2 = __builtin_bit_cast(float, (whole - half + 127) << 23);
  float result = e * f1 * f2;
  return x == x ? result : x;
}

// For x from -87 to 0, where neither the result nor a factor of it leaves the normal numbers. nan
// gives anything.
ARGOSY_INLINE float exp_of_negative(float x) {
  constexpr float kShift = 12582912.0f;
  float t = fma_of(x, 1.44269504f, kShift);
  float k = t - kShift;
  float r = fma_of(k, -0.693359375f, x);
  r = fma_of(k, 2.12194440e-4f, r);
  float p = polynomial(r, 0.50000001f, 0.166665189f, 0.0416662059f, 0.00836888786f, 0.00139504862f);
  float e = fma_of(r * r, p, r) + 1;
  return __builtin_bit_cast(
      float, __builtin_bit_cast(uint32_t, e) + (__builtin_bit_cast(uint32_t, t) << 23));
}

ARGOSY_INLINE float log_of(float x) {
  bool tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  uint32_t bits = __builtin_bit_cast(uint32_t, scaled);
  // So that m is in [sqrt(1/2), sqrt(2)). Unsigned: wraps for negative x, whose result is dropped.
  int32_t e = static_cast<int32_t>(bits - 0x3f3504f3) >> 23;
  float m = __builtin_bit_cast(float, bits - (static_cast<uint32_t>(e) << 23));
  float k = static_cast<float>(tiny ? e - 23 : e);
  float f = m - 1;
  float f2 = f * f;
  float p = polynomial(f, 0.333333104f, -0.249999866f, 0.200022267f, -0.166692495f, 0.142186554f,
                       -0.123843703f, 0.118730163f, -0.117896954f, 0.0691514653f);
  float y = f * f2 * p;
  y = fma_of(k, -2.12194440e-4f, y);
  y = fma_of(f2, -0.5f, y);
  float result = fma_of(k, 0.693359375f, f + y);
  result = x == 0 ? -kInf<float> : result;
  result = x < 0 ? kNan<float> : result;
  return x < kInf<float> ? result : x;
}

// t / (t + 2) with t = exp(2 |x|) - 1, computed without cancellation: 2^k (e^r - 1) + (2^k - 1).
ARGOSY_INLINE float tanh_of(float x) {
  constexpr float kShift = 12582912.0f;
  float a = abs_of(x);
  a = 2 * (a > 10 ? 10.0f : a);
  float t = fma_of(a, 1.44269504f, kShift);
  float k = t - kShift;
  float r = fma_of(k, -0.693359375f, a);
  r = fma_of(k, 2.12194440e-4f, r);
  float p = polynomial(r, 0.50000001f, 0.166665189f, 0.0416662059f, 0.00836888786f, 0.00139504862f);
  float q = fma_of(r * r, p, r);
  uint32_t whole = __builtin_bit_cast(uint32_t, t) - __builtin_bit_cast(uint32_t, kShift);
  float scale = __builtin_bit_cast(float, (whole + 127) << 23);
  float e = fma_of(scale, q, scale - 1);
  return copysign_of(e / (e + 2), x);
}

ARGOSY_INLINE float sigmoid_of(float x) {
  return 1 / (1 + exp_of(-x));
}

// log(1 + e^x) without overflow.
ARGOSY_INLINE float log1p_of(float x) {
  return static_cast<float>(log1p_core(x));
}
ARGOSY_INLINE float expm1_of(float x) {
  return static_cast<float>(expm1_core(x));
}
ARGOSY_INLINE float softplus_of(float x) {
  const float a = abs_of(x);
  const float u = exp_of_negative(a > 87 ? -87.0f : -a);
  const float p =
      polynomial(u, 1.0f, -0.499999017f, 0.333299637f, -0.249541342f, 0.196759403f, -0.153055936f,
                 0.106036559f, -0.0569595359f, 0.0198514573f, -0.00324402354f);
  const float y = a > 87 ? 0.0f : u * p;  // log(1 + u)
  return x == x ? (x > 0 ? x : 0.0f) + y : x;
}

// erfc(a) for a >= 0.9 (error 3e-8: from 4 on it is that of 4, which is less), and erf(x) for |x|
// <= 0.92.
ARGOSY_INLINE float erfc_tail(float a) {
  a = a > 4 ? 4.0f : a;
  return exp_of_negative(polynomial(a, 0.000170552075f, -1.12949516f, -0.633386646f, -0.10823662f,
                                    0.0250914972f, -0.00416052715f, 0.00043230304f,
                                    -2.09095588e-05f));
}
ARGOSY_INLINE float erf_near(float x) {
  float p = polynomial(x * x, 0.128379167f, -0.376126343f, 0.112837033f, -0.0268597986f,
                       0.00520196023f, -0.000815262798f, 8.40992071e-05f);
  return fma_of(x, p, x);
}
ARGOSY_INLINE float erf_of(float x) {
  float a = abs_of(x);
  float near = erf_near(x);
  float far = 1 - erfc_tail(a);
  float result = copysign_of(a < 0.92f ? near : far, x);
  return x == x ? result : x;
}
// The standard normal distribution function: within 1e-7, and in the left tail within 1e-3 of the
// value. There it is exp of a polynomial.
ARGOSY_INLINE float normal_cdf(float x) {
  constexpr float kFar = 12.8f;
  const float a = abs_of(x);
  const float z = a > kFar ? kFar : a;
  const float p =
      z * polynomial(z, -0.797887553f, -0.318274736f, -0.0364688224f, 0.00501474971f,
                     -0.000177021621f, -0.000105011946f, 2.72405984e-05f, -3.37010511e-06f,
                     2.35928775e-07f, -8.91599949e-09f, 1.41388053e-10f);
  const float tail = a > kFar ? 0.0f : 0.5f * exp_of_negative(p);
  const float result = x > 0 ? 1 - tail : tail;
  return x == x ? result : x;
}
// Its derivative.
ARGOSY_INLINE float normal_density(float x) {
  const float p = -0.5f * x * x;
  const float y = 0.398942280f * exp_of_negative(p < -87 ? -87.0f : p);
  return p < -87 ? 0.0f : y;
}

}  // namespace argosy::cpu::ARGOSY_ISA

// double: of the C library, one at a time, but in files that ask for vectors.
#ifdef ARGOSY_VECTOR_DOUBLE
#include "argosy/kernels/cpu/simd/math_double.h"
#else
#include "argosy/kernels/cpu/simd/math_libm.h"
#endif
