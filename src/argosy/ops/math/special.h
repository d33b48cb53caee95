#pragma once

#include <cstdint>

// Special functions of double numbers that the C library lacks.
namespace argosy::special {

// The n-th derivative of digamma, n >= 1: (-1)^(n+1) n! sum over k of 1 / (x + k)^(n+1).
double polygamma(int n, double x);
// The same of `count` numbers, which may take the precision of float only.
void polygamma(int n, const double* x, double* out, int64_t count, bool to_float);
// Regularized incomplete gamma functions: of all of gamma(a) the part of the integral below x
// (lower) or above it. a >= 0, x >= 0.
double gamma_lower(double a, double x);
double gamma_upper(double a, double x);

}  // namespace argosy::special
