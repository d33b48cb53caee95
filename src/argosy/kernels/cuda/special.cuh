#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Special functions of double numbers that CUDA's library lacks.
namespace argosy::cuda {

inline constexpr double kPi = 3.14159265358979323846;

__device__ inline double digamma(double x) {
  if (x == 0) return copysign(static_cast<double>(INFINITY), -x);
  double result = 0;
  if (x < 0) {
    if (x == floor(x)) return NAN;
    result = -kPi / tan(kPi * (x - floor(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  const double u = 1 / (x * x);
  const double series =
      u * (1.0 / 12 - u * (1.0 / 120 - u * (1.0 / 252 - u * (1.0 / 240 - u / 132))));
  return result + log(x) - 0.5 / x - series;
}

// Modified Bessel functions of order 0 and 1 times e^-|x|.
__device__ inline double bessel_scaled(int order, double x) {
  const double a = fabs(x);
  double sum, term;
  if (a < 25) {
    const double u = a * a / 4;
    sum = term = order ? a / 2 : 1;
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= u / (k * (k + order));
    sum *= exp(-a);
  } else {
    const double mu = 4.0 * order;
    sum = term = 1;
    for (int k = 1; k < 25 && fabs(term) > 1e-17; ++k) {
      term *= -(mu - (2 * k - 1) * (2 * k - 1)) / (8 * a * k);
      sum += term;
    }
    sum /= sqrt(2 * kPi * a);
  }
  if (isinf(a)) sum = 0;
  return order ? copysign(sum, x) : sum;
}

// --- polygamma and the incomplete gamma functions: the texts of ops/math/special.cc ---

// sum over k >= 0 of 1 / (x + k)^s for x > 0, s > 1: Euler-Maclaurin after shifting x up.
__device__ inline double hurwitz_zeta(double s, double x) {
  double sum = 0;
  for (; x < 12 + s / 2; x += 1) sum += pow(x, -s);
  // Bernoulli numbers B_2k / (2k)!
  constexpr double kTerms[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368000.0,
                               1.0 / 74724249600.0,
                               -3617.0 / 10670622842880000.0};
  const double power = pow(x, -s);
  sum += x * power / (s - 1) + power / 2;
  double factor = s * power / x;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    sum += kTerms[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sum;
}

// The n-th derivative of pi cot(pi x), as a polynomial in c = cot(pi x): d/dx c = -pi (1 + c^2).
__device__ inline double cot_derivative(int n, double x) {
  const double c = 1 / tan(kPi * x);
  double p[64] = {0, 1}, q[64];
  int degree = 1;
  double scale = kPi;
  for (int i = 0; i < n && degree < 62; ++i) {
    for (double& v : q) v = 0;
    for (int d = 1; d <= degree; ++d) {
      q[d - 1] -= d * p[d];
      q[d + 1] -= d * p[d];
    }
    ++degree;
    for (int d = 0; d <= degree; ++d) p[d] = q[d];
    scale *= kPi;
  }
  double value = 0;
  for (int d = degree; d >= 0; --d) value = value * c + p[d];
  return scale * value;
}

// The n-th derivative of digamma, 1 <= n <= 60.
__device__ inline double polygamma(int n, double x) {
  if (isnan(x)) return x;
  const double factorial = tgamma(n + 1.0), sign = n % 2 ? 1 : -1;
  if (isinf(x) && x > 0) return sign * 0.0;
  if (x > 0) return sign * factorial * hurwitz_zeta(n + 1.0, x);
  if (x == floor(x)) return sign * static_cast<double>(INFINITY);
  // Reflection: polygamma(n, 1 - x) (-1)^n - polygamma(n, x) = d^n/dx^n pi cot(pi x).
  const double mirrored = sign * factorial * hurwitz_zeta(n + 1.0, 1 - x);
  return (n % 2 ? -mirrored : mirrored) - cot_derivative(n, x);
}

// gamma_lower by its series: good for x < a + 1.
__device__ inline double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 2000; ++k) {
    term *= x / (a + k);
    sum += term;
    if (fabs(term) < fabs(sum) * DBL_EPSILON) break;
  }
  return sum * exp(a * log(x) - x - lgamma(a));
}

// gamma_upper by its continued fraction (modified Lentz): good for x >= a + 1.
__device__ inline double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int k = 1; k < 2000; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    if (fabs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < DBL_EPSILON) break;
  }
  return h * exp(a * log(x) - x - lgamma(a));
}

// Of all of gamma(a) the part of the integral below x (lower) or above it.
__device__ inline double gamma_part(bool lower, double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return NAN;
  const double all = lower ? 1 : 0, nothing = 1 - all;
  if (a == 0) return x > 0 ? all : static_cast<double>(NAN);
  if (x == 0) return nothing;
  if (isinf(x)) return isinf(a) ? static_cast<double>(NAN) : all;
  if (isinf(a)) return nothing;
  if (x < a + 1) {
    const double part = lower_series(a, x);
    return lower ? part : 1 - part;
  }
  const double part = upper_fraction(a, x);
  return lower ? 1 - part : part;
}

}  // namespace argosy::cuda
