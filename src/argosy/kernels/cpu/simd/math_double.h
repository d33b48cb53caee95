#pragma once

#include "argosy/kernels/cpu/simd/math.h"

// The functions of math.h for double results: within 2 units in the last place (log1p, expm1, tan,
// asin, acos, and the hyperbolic ones but cosh within 4, erfinv within 8), without branches or
// calls, so that loops over them vectorize. Polynomials are Chebyshev fits of the functions named.
namespace argosy::cpu::ARGOSY_ISA {
inline namespace vectors {

inline constexpr double kRoundShift =
    6755399441055744.0;  // 1.5 * 2^52: rounds to an integer in the low bits
inline constexpr double kLn2High =
    6.93147180369123816490e-01;  // 32 bits, so its multiples are exact
inline constexpr double kLn2Low = 1.90821492927058770002e-10;

ARGOSY_INLINE uint64_t bits_of(double x) {
  return __builtin_bit_cast(uint64_t, x);
}
// 2^k, for the k in the low bits of shifted = k + kRoundShift. REQUIRES: it is a normal number.
ARGOSY_INLINE double power_of_two(uint64_t shifted) {
  return __builtin_bit_cast(double, (shifted + 1023)
                                        << 52);  // the bits of kRoundShift leave the word
}

// x = k ln 2 + r; q = e^r - 1.
struct ReducedExp {
  double shifted, k, q;
};
ARGOSY_INLINE ReducedExp reduce_exp(double x) {
  const double shifted = fma_of(x, 1.4426950408889634, kRoundShift);
  const double k = shifted - kRoundShift;
  double r = fma_of(k, -kLn2High, x);
  r = fma_of(k, -kLn2Low, r);
  const double p =
      polynomial(r, 0.5, 0.1666666666666667103, 0.041666666666669769783, 0.0083333333333260831202,
                 0.0013888888888883711167, 0.00019841269875002278793, 0.0000248015873256774619,
                 2.7557255170000887438e-6, 2.7557273478718580474e-7, 2.5105312729622101787e-8,
                 2.09147553258932022e-9);
  return {shifted, k, fma_of(r * r, p, r)};
}

ARGOSY_INLINE double exp_of(double x) {
  double clamped = x > 710 ? 710.0 : x;
  clamped = clamped < -746 ? -746.0 : clamped;
  const ReducedExp a = reduce_exp(clamped);
  // 2^k in two factors: k runs from -1077 (denormal results) to 1025.
  const uint64_t half = bits_of(fma_of(a.k, 0.5, kRoundShift));
  const uint64_t rest = bits_of(a.shifted) - half + bits_of(kRoundShift);
  const double result = (a.q + 1) * power_of_two(half) * power_of_two(rest);
  return x == x ? result : x;
}

ARGOSY_INLINE double exp2_of(double x) {
  double clamped = x > 1025 ? 1025.0 : x;
  clamped = clamped < -1080 ? -1080.0 : clamped;
  const double shifted = clamped + kRoundShift, k = shifted - kRoundShift;
  const double e =
      reduce_exp((clamped - k) * 0.69314718055994531).q + 1;  // no multiple of ln 2 in it
  const uint64_t half = bits_of(fma_of(k, 0.5, kRoundShift));
  const uint64_t rest = bits_of(shifted) - half + bits_of(kRoundShift);
  const double result = e * power_of_two(half) * power_of_two(rest);
  return x == x ? result : x;
}

// (e^x - 1) / 2, which is finite up to x = 710.4. REQUIRES: |x| is no denormal number, or 0.
ARGOSY_INLINE double half_expm1(double x) {
  double clamped = x > 710.5 ? 710.5 : x;
  clamped = clamped < -45 ? -45.0 : clamped;
  const ReducedExp a = reduce_exp(clamped);
  const double scale = power_of_two(bits_of(a.shifted - 2));  // 2^(k - 2): k runs to 1025
  const double result = 2 * fma_of(scale, a.q, scale - 0.25);
  return x == x ? result : x;
}
ARGOSY_INLINE double expm1_of(double x) {
  const double result = 2 * half_expm1(x);
  return abs_of(x) < 1e-17 ? x : result;
}
ARGOSY_INLINE double tanh_of(double x) {
  const double a = abs_of(x);
  const double h = half_expm1(2 * (a > 22 ? 22.0 : a));
  const double far = copysign_of(h / (h + 1), x);
  return a < 1e-9 ? x : far;
}
ARGOSY_INLINE double sinh_of(double x) {
  const double h = half_expm1(abs_of(x));
  const double far = copysign_of(h + h / fma_of(h, 2.0, 1.0), x);
  const double result = h == kInf<double> ? copysign_of(h, x) : far;
  return abs_of(x) < 1e-9 ? x : result;
}
ARGOSY_INLINE double cosh_of(double x) {
  const double e = half_expm1(abs_of(x)) + 0.5;
  return e + 0.25 / e;
}
ARGOSY_INLINE double sigmoid_of(double x) {
  return 1 / (1 + exp_of(-x));
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]. REQUIRES: x is normal.
struct Split {
  double e, f;
};
ARGOSY_INLINE Split split_of(double x) {
  const uint64_t bits = bits_of(x);
  double m = __builtin_bit_cast(double, (bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  double e = __builtin_bit_cast(double, bits >> 52 | 0x4330000000000000) - 4503599627371519.0;
  const bool high = m > 1.4142135623730951;
  m = high ? m * 0.5 : m;
  e = high ? e + 1 : e;
  return {e, m - 1};
}
// f - log(1 + f) - rest, whose parts are small beside f.
ARGOSY_INLINE double log_rest(double f, double rest) {
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double half = 0.5 * f * f;
  const double p =
      polynomial(s2, 0.66666666666666666463, 0.40000000000000883236, 0.28571428570799785031,
                 0.22222222392581045097, 0.18181795547521136235, 0.15386244737621666606,
                 0.13268638369266823879, 0.1308803485092755383);
  return half - fma_of(s, fma_of(s2, p, half), rest);
}
ARGOSY_INLINE double log_limits(double x, double result) {
  result = x == 0 ? -kInf<double> : result;
  result = x < 0 ? kNan<double> : result;
  return x < kInf<double> ? result : x;  // inf and nan
}
ARGOSY_INLINE Split split_any(double x) {
  const bool tiny = x < 2.2250738585072014e-308;
  Split a = split_of(tiny ? x * 18014398509481984.0 : x);
  a.e = tiny ? a.e - 54 : a.e;
  return a;
}
ARGOSY_INLINE double log_of(double x) {
  const Split a = split_any(x);
  return log_limits(x, a.e * kLn2High - (log_rest(a.f, a.e * kLn2Low) - a.f));
}
ARGOSY_INLINE double log2_of(double x) {
  const Split a = split_any(x);
  return log_limits(x, fma_of(a.f - log_rest(a.f, 0), 1.4426950408889634, a.e));
}
ARGOSY_INLINE double log10_of(double x) {
  constexpr double kHigh = 3.01029995663611771306e-01, kLow = 3.69423907715893078616e-13;
  const Split a = split_any(x);
  const double y = fma_of(a.f - log_rest(a.f, 0), 0.43429448190325182, a.e * kLow);
  return log_limits(x, fma_of(a.e, kHigh, y));
}
ARGOSY_INLINE double log1p_of(double x) {
  const double u = 1 + x;
  const Split a = split_of(u);
  const double lost = a.e > 0 ? 1 - (u - x) : x - (u - 1);  // by the rounding of u
  const double f = a.e == 0 ? x : a.f;
  const double rest = fma_of(a.e, kLn2Low, a.e == 0 ? 0.0 : lost / u);
  const double result = log_limits(u, a.e * kLn2High - (log_rest(f, rest) - f));
  return x == 0 ? x : result;
}
ARGOSY_INLINE double softplus_of(double x) {
  return (x > 0 ? x : 0.0) + log1p_of(exp_of(-abs_of(x)));
}
ARGOSY_INLINE double asinh_of(double x) {
  const double a = abs_of(x);
  const bool big = a > 1e150;
  const double s = big ? a : a + a * a / (1 + sqrt_of(fma_of(a, a, 1.0)));
  const double y = log1p_of(s);
  return copysign_of(big ? y + 0.69314718055994531 : y, x);
}
ARGOSY_INLINE double acosh_of(double x) {
  const double t = x - 1;
  const bool big = x > 1e150;
  const double y = log1p_of(big ? x : t + sqrt_of(t * (t + 2)));
  return t < 0 ? kNan<double> : big ? y + 0.69314718055994531 : y;
}
ARGOSY_INLINE double atanh_of(double x) {
  const double a = abs_of(x);
  const double y = 0.5 * log1p_of(2 * a / (1 - a));
  return copysign_of(a <= 1 ? y : kNan<double>, x);
}

ARGOSY_INLINE double atan_of(double x) {
  const double a = abs_of(x);
  const bool big = a > 2.414213562373095, middle = a > 0.4142135623730950;
  const double numerator = big ? -1.0 : middle ? a - 1 : a;
  const double denominator = big ? a : middle ? a + 1 : 1.0;
  const double offset = big ? 1.5707963267948966 : middle ? 0.78539816339744831 : 0.0;
  const double low = big ? 6.123233995736766e-17 : middle ? 3.061616997868383e-17 : 0.0;
  const double t = numerator / denominator;
  const double u = t * t;
  const double p =
      polynomial(u, -0.33333333333333333, 0.19999999999999991353, -0.14285714285711462316,
                 0.11111111110748203309, -0.09090909066620618171, 0.076923067223419724273,
                 -0.066666417173027397362, 0.058819208480819429209, -0.052579989063322382509,
                 0.047191229424329049303, -0.041033377467417769373, 0.030610274694365921685,
                 -0.013892520207010398303);
  return copysign_of(offset + (t + fma_of(t * u, p, low)), x);
}
ARGOSY_INLINE double asin_of(double x) {
  return atan_of(x / sqrt_of((1 - x) * (1 + x)));
}
ARGOSY_INLINE double acos_of(double x) {
  return 2 * atan_of(sqrt_of((1 - x) / (1 + x)));
}
ARGOSY_INLINE double atan2_of(double y, double x) {
  constexpr double kPiLow = 1.2246467991473532e-16;
  double v = atan_of(abs_of(y) / abs_of(x));
  v = (y == 0) & (x == 0) ? 0.0 : v;
  v = (abs_of(y) == kInf<double>)&(abs_of(x) == kInf<double>) ? 0.78539816339744831 : v;
  v = __builtin_copysign(1.0, x) < 0 ? 3.1415926535897931 - (v - kPiLow) : v;
  v = copysign_of(v, y);
  return (x != x) | (y != y) ? y + x : v;
}

// Remainder of x / (pi / 2) as a sum. REQUIRES: |x| < kTrigLimit<double>.
struct ReducedDouble {
  int64_t quadrant;
  double r, low;
};
ARGOSY_INLINE ReducedDouble reduce_double(double x) {
  const double t = fma_of(x, 0.63661977236758134, kRoundShift);
  const double n = t - kRoundShift;
  const double near = fma_of(n, -1.5707963267948966, x);  // exact
  const double second = n * 6.123233995736766e-17;
  const double r = near - second;
  const double lost = fma_of(n, 6.123233995736766e-17, -second);
  const double low = fma_of(n, 1.4973849048591698e-33, (near - r) - second - lost);
  return {__builtin_bit_cast(int64_t, t), r, low};
}
ARGOSY_INLINE double sin_double(const ReducedDouble& a) {
  const double u = a.r * a.r;
  const double p =
      polynomial(u, -0.16666666666666666665, 0.0083333333333333314699, -0.00019841269841265017028,
                 2.7557319219301918704e-6, -2.5052106219521894233e-8, 1.6058529572267876353e-10,
                 -7.5865765881710724626e-13);
  return a.r + fma_of(a.r * u, p, a.low * fma_of(u, -0.5, 1.0));
}
ARGOSY_INLINE double cos_double(const ReducedDouble& a) {
  const double u = a.r * a.r, half = 0.5 * u, one = 1 - half;
  const double p =
      polynomial(u, 0.041666666666666665373, -0.0013888888888887382271, 0.000024801587298743069286,
                 -2.7557317260008838164e-7, 2.0876143827993132496e-9, -1.1382456778061305849e-11);
  return one + ((1 - one) - half + fma_of(u * u, p, -a.r * a.low));
}
ARGOSY_INLINE double sin_core_double(double x) {
  const ReducedDouble a = reduce_double(x);
  const double v = a.quadrant & 1 ? cos_double(a) : sin_double(a);
  const double result = flip(v, a.quadrant >> 1 & 1);
  return x == 0 ? x : result;
}
ARGOSY_INLINE double cos_core_double(double x) {
  const ReducedDouble a = reduce_double(x);
  const double v = a.quadrant & 1 ? sin_double(a) : cos_double(a);
  return flip(v, (a.quadrant + 1) >> 1 & 1);
}
ARGOSY_INLINE double tan_core_double(double x) {
  const ReducedDouble a = reduce_double(x);
  const double s = sin_double(a), c = cos_double(a);
  const double numerator = a.quadrant & 1 ? -c : s;
  const double denominator = a.quadrant & 1 ? s : c;
  return x == 0 ? x : numerator / denominator;
}

// erf(x) for |x| < 0.93, and erfc(a) for a >= 0.9: e^(-a^2) / (1 + 2 a) times a fit in (a - 4) / (a
// + 4).
ARGOSY_INLINE double erf_near_double(double x) {
  const double p =
      polynomial(x * x, 0.12837916709551257388, -0.37612638903183751645, 0.1128379167095507274,
                 -0.026866170645117748676, 0.005223977625263319255, -0.0008548327009338428366,
                 0.00012055332266323158164, -0.000014925626015914435929, 1.6461546173331769832e-6,
                 -1.6356704392969750894e-7, 1.4707229779049329013e-8, -1.1575189562988291947e-9,
                 6.3346034688525346361e-11);
  return fma_of(x, p, x);
}
ARGOSY_INLINE double erfc_tail_double(double a) {
  a = a < 0.9 ? 0.9 : a > 28 ? 28.0 : a;
  const double t = (a - 4) / (a + 4);
  const double p =
      polynomial(t, 1.2329951186255525064, -0.1396211168405625215, 0.015379652102621269176,
                 0.068097054254693275707, -0.10103906603642072111, 0.093732834998359069483,
                 -0.066330365808747859294, 0.037167515536300647894, -0.016197734110688331159,
                 0.0050319700060143526721, -0.00075777282332150032991, -0.00019925701503757302109,
                 0.00015061917963407617696, -0.000024397129830263891479, -0.00001121376378160737916,
                 5.7016051301364027636e-6, 2.7746202530441851084e-7, -8.0655475991653644708e-7,
                 9.1840275518817285902e-8, 8.572617065178779231e-8, -2.4143290057255128678e-8);
  const double square = a * a;
  const double lost = fma_of(a, a, -square);
  const double scaled = p / fma_of(a, 2.0, 1.0);
  return fma_of(scaled, -lost, scaled) * exp_of(-square);
}
ARGOSY_INLINE double erf_of(double x) {
  const double a = abs_of(x);
  const double far = 1 - erfc_tail_double(a);
  const double result = copysign_of(a < 0.92 ? erf_near_double(a) : far, x);
  return x == x ? result : x;
}
ARGOSY_INLINE double erfc_of(double x) {
  const double tail = erfc_tail_double(abs_of(x));
  const double far = x < 0 ? 2 - tail : tail;
  const double result = abs_of(x) < 0.92 ? 1 - erf_near_double(x) : far;
  return x == x ? result : x;
}
// The estimate of a fit (relative error below 1e-6), and Halley's step, which cubes that.
ARGOSY_INLINE double erfinv_of(double x) {
  const double a = abs_of(x);
  const double w = -log_of((1 - a) * (1 + a));
  const double u = w - 3.125, v = sqrt_of(w) - 4.2;
  const double near = polynomial(
      u, 1.653654562683224, 0.24015817844734516, -0.006033671032295682, -0.0007406910325410063,
      0.00018673466052819817, -1.3892141246886546e-05, -1.3658217557996507e-06,
      4.269851391553759e-07, -2.8958959384652436e-08, -4.752745637237614e-09, 1.036388144838581e-09,
      5.688217032871547e-12, -1.2570811432984129e-11);
  const double far = polynomial(
      v, 4.04172687071499849, 1.00990381194706803, 0.000799270780046946006, -0.0006599297050572451,
      0.000250511034774254143, -0.000060409887450190345, 4.20415976657453946e-6,
      -0.0000178554865651378273, 0.0000174362338722763204, -4.23802120362764975e-6);
  const double y = a * (w < 6.25 ? near : far);
  const double erf_y = erf_near_double(y);  // up to 0.92, else erfc is right
  const double rest = y < 0.92 ? 1 - erf_y : erfc_tail_double(y);
  const double error = a < 0.5 ? erf_y - a : (1 - a) - rest;
  const double step = error * 0.88622692545275801 / exp_of(-y * y);
  const double result = copysign_of(y - step / fma_of(y, step, 1.0), x);
  const double bounded = a < 1 ? result : a == 1 ? copysign_of(kInf<double>, x) : kNan<double>;
  return a < 1e-9 ? x * 0.88622692545275801 : bounded;
}
ARGOSY_INLINE double normal_cdf(double x) {
  return 0.5 * erfc_of(-x * 0.70710678118654752);
}
ARGOSY_INLINE double normal_density(double x) {
  return 0.39894228040143267794 * exp_of(-0.5 * x * x);
}

}  // namespace vectors
}  // namespace argosy::cpu::ARGOSY_ISA
