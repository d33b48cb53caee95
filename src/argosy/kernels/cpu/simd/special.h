#pragma once

#include "argosy/kernels/cpu/simd/math.h"

// Special functions of float32, which go through double and round once. Fits are Chebyshev's.
namespace argosy::cpu::ARGOSY_ISA {

// x > 0. Next to the roots at 1 and 2: their product times a fit; else Stirling's series from 8 on,
// where smaller x are brought by the recurrence. Within 2 units in the last place of float32.
ARGOSY_INLINE double lgamma_positive(double x) {
  const double t = x - 1.5;
  const double near =
      (x - 1) * (x - 2) *
      polynomial(t, 0.483128950496979788, -0.145959895886353047, 0.0629114108077031029,
                 -0.0313084936842334585, 0.0167967480500495062, -0.00942539974200373931,
                 0.00545122627132323987, -0.00321510297751503876, 0.00189144739581716045,
                 -0.00114442818779235886, 0.000822149811265321305, -0.00050824129176959525,
                 0.000063600127089591265, -0.0000370732541526025684, 0.000290650170657109779,
                 -0.000183663880450097692);
  const bool small = x < 8;
  const double z = small ? x + 8 : x;
  double product = x * (x + 1) * (x + 2) * (x + 3);
  product *= (x + 4) * (x + 5) * (x + 6) * (x + 7);
  const double u = 1 / z;
  const double series =
      u * polynomial(u * u, 0.0833333333333302534, -0.00277777776791237664, 0.000793645716094256722,
                     -0.000594317589384239508, 0.000772651404903313418);
  double far = fma_of(z - 0.5, log_core(z), -z) + (0.91893853320467274178 + series);
  far -= small ? log_core(product) : 0.0;
  const double result = abs_of(t) < 0.75 ? near + 0.0 : far;  // 0, not -0
  return x < kInf<double> ? result : x;
}

// e^-|x| times the modified Bessel function of order 0, and of order 1 divided by x: of a = |x|,
// relative error below 2e-9.
ARGOSY_INLINE double bessel0_scaled(double a) {
  const double t = (a < 8 ? a : 8.0) - 4, u = 1 / (a > 8 ? a : 8.0);
  const double near =
      polynomial(t, 0.207001921132988554, -0.0282510817136173246, 0.005907227920558017,
                 -0.00139130387038364173, 0.00034118288170712376, -0.0000829718477986230381,
                 0.00001935616292585729, -4.24461999664586478e-6, 8.6559991300373274e-7,
                 -1.63913006947935554e-7, 2.89523159909038382e-8, -4.70777783729281846e-9,
                 6.888719595114475e-10, -9.91138739063083281e-11, 1.55196176974574241e-11,
                 -1.86681358570041275e-12, 9.64831342103391819e-14, -1.32265083597223865e-14,
                 5.06757482913829233e-15, -4.78469178437338575e-16);
  const double far = polynomial(u, 0.398942280410442881, 0.0498677708524738586,
                                0.0280542811011467837, 0.028862317047220016, 0.0620240859479637076,
                                -0.373582402340201699, 7.45024302711655958, -63.5302300467073095,
                                300.278923311203834, -522.89721078914514) *
                     sqrt_of(u);
  return a < 8 ? near : a == kInf<double> ? 0.0 : far;
}
ARGOSY_INLINE double bessel1_scaled(double a) {
  const double t = (a < 8 ? a : 8.0) - 4, u = 1 / (a > 8 ? a : 8.0);
  const double near =
      polynomial(t, 0.044687709864502508, -0.0152810845064975271, 0.00425360013310019003,
                 -0.00107004073344845198, 0.000249091135336823216, -0.0000539843896840718204,
                 0.0000109071052639347176, -2.05515525541553061e-6, 3.61328379318999312e-7,
                 -5.93922459419352401e-8, 9.16108645053422242e-9, -1.32129388925939943e-9,
                 1.76212956885549876e-10, -2.26865863208268755e-11, 3.02511432548156776e-12,
                 -3.38670987638501734e-13, 2.18297585073575471e-14, -2.51324385055515544e-15,
                 6.90911576878771107e-16, -6.16559246418526971e-17);
  const double far = polynomial(u, 0.398942280391957764, -0.149603340221499733,
                                -0.0467548873903321785, -0.0405320314770691948,
                                -0.0756639380665309651, 0.375783214310369457, -7.82439184496263212,
                                66.1869301835239527, -311.956549889032333, 536.733298275456214) *
                     sqrt_of(u);
  return a < 8 ? near * a : a == kInf<double> ? 0.0 : far;
}

constexpr auto kI0e = [](float x) __attribute__((always_inline)) -> float {
  const double v = bessel0_scaled(abs_of(double{x}));
  return static_cast<float>(x == x ? v : x);
};
constexpr auto kI0 = [](float x) __attribute__((always_inline)) -> float {
  const double a = abs_of(double{x}), v = bessel0_scaled(a) * exp_core(a);
  return static_cast<float>(a > 100 ? kInf<double> : x == x ? v : x);
};
constexpr auto kI1e = [](float x) __attribute__((always_inline)) -> float {
  const double v = bessel1_scaled(abs_of(double{x}));
  return static_cast<float>(x == x ? copysign_of(v, double{x}) : x);
};
constexpr auto kI1 = [](float x) __attribute__((always_inline)) -> float {
  const double a = abs_of(double{x}), v = bessel1_scaled(a) * exp_core(a);
  const double far = a > 100 ? kInf<double> : v;
  return static_cast<float>(x == x ? copysign_of(far, double{x}) : x);
};

}  // namespace argosy::cpu::ARGOSY_ISA
