#pragma once

#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {
inline namespace libm {

ARGOSY_INLINE double exp_of(double x) {
  return __builtin_exp(x);
}
ARGOSY_INLINE double log_of(double x) {
  return __builtin_log(x);
}
ARGOSY_INLINE double tanh_of(double x) {
  return __builtin_tanh(x);
}
ARGOSY_INLINE double erf_of(double x) {
  return __builtin_erf(x);
}
ARGOSY_INLINE double log1p_of(double x) {
  return __builtin_log1p(x);
}
ARGOSY_INLINE double expm1_of(double x) {
  return __builtin_expm1(x);
}
ARGOSY_INLINE double sigmoid_of(double x) {
  return 1 / (1 + __builtin_exp(-x));
}
ARGOSY_INLINE double softplus_of(double x) {
  return (x > 0 ? x : 0.0) + __builtin_log1p(__builtin_exp(-abs_of(x)));
}
ARGOSY_INLINE double normal_cdf(double x) {
  return 0.5 * __builtin_erfc(-x * 0.70710678118654752);
}
ARGOSY_INLINE double normal_density(double x) {
  return 0.39894228040143267794 * __builtin_exp(-0.5 * x * x);
}

}  // namespace libm
}  // namespace argosy::cpu::ARGOSY_ISA
