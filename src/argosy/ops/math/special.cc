#include "argosy/ops/math/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace argosy::special {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEps = std::numeric_limits<double>::epsilon();

double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// x^-s; whole s of polygamma, by products.
double inverse_power(double x, double s) {
  if (s > 4 || s != std::floor(s)) return std::pow(x, -s);
  double y = x;
  for (int i = 1; i < static_cast<int>(s); ++i) y *= x;
  return 1 / y;
}

// sum over k >= 0 of 1 / (x + k)^s for x > 0, s > 1: Euler-Maclaurin after shifting x up.
double hurwitz_zeta(double s, double x) {
  double sum = 0;
  for (; x < 12 + s / 2; x += 1) sum += inverse_power(x, s);
  // Bernoulli numbers B_2k / (2k)!
  static constexpr double kTerms[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0};
  const double power = inverse_power(x, s), inverse = 1 / (x * x);
  sum += x * power / (s - 1) + power / 2;
  double factor = s * power / x;
  for (int k = 0; k < 8; ++k) {
    sum += kTerms[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * inverse;
  }
  return sum;
}

// The n-th derivative of pi cot(pi x), as a polynomial in c = cot(pi x): d/dx c = -pi (1 + c^2).
double cot_derivative(int n, double x) {
  double c = 1 / std::tan(std::numbers::pi * x);
  double p[64] = {0, 1}, q[64];
  int degree = 1;
  double scale = std::numbers::pi;
  for (int i = 0; i < n && degree < 62; ++i) {
    for (double& v : q) v = 0;
    for (int d = 1; d <= degree; ++d) {
      q[d - 1] -= d * p[d];
      q[d + 1] -= d * p[d];
    }
    ++degree;
    for (int d = 0; d <= degree; ++d) p[d] = q[d];
    scale *= std::numbers::pi;
  }
  double value = 0;
  for (int d = degree; d >= 0; --d) value = value * c + p[d];
  return scale * value;
}

// gamma_lower by its series: good for x < a + 1.
double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 2000; ++k) {
    term *= x / (a + k);
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * kEps) break;
  }
  return sum * std::exp(a * std::log(x) - x - log_gamma(a));
}

// gamma_upper by its continued fraction (modified Lentz): good for x >= a + 1.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int k = 1; k < 2000; ++k) {
    double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::fabs(d * c - 1) < kEps) break;
  }
  return h * std::exp(a * std::log(x) - x - log_gamma(a));
}

}  // namespace

double polygamma(int n, double x) {
  if (std::isnan(x)) return x;
  double factorial = std::tgamma(n + 1.0), sign = n % 2 ? 1 : -1;
  if (x > 0) return sign * factorial * hurwitz_zeta(n + 1.0, x);
  if (x == std::floor(x)) return sign * kInf;
  // Reflection: polygamma(n, 1 - x) (-1)^n - polygamma(n, x) = d^n/dx^n pi cot(pi x).
  double mirrored = sign * factorial * hurwitz_zeta(n + 1.0, 1 - x);
  return (n % 2 ? -mirrored : mirrored) - cot_derivative(n, x);
}

double gamma_lower(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(x)) return std::isinf(a) ? kNan : 1;
  if (std::isinf(a)) return 0;
  return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}

double gamma_upper(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(x)) return std::isinf(a) ? kNan : 0;
  if (std::isinf(a)) return 1;
  return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

}  // namespace argosy::special
