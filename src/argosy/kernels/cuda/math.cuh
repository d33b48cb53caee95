#pragma once

#include "argosy/kernels/cuda/element.cuh"

// Arithmetic that ops of elements share, of computed types.
namespace argosy::cuda {

template <class T>
inline constexpr bool is_float_v = std::is_floating_point_v<T>;

// Integer arithmetic that wraps.
template <class T>
struct WrapOf {
  using type = T;
};
template <class T>
requires(std::is_integral_v<T>) struct WrapOf<T> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <class T>
using Wrap = typename WrapOf<T>::type;

template <class T>
__device__ __forceinline__ T sum_of(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {a.re + b.re, a.im + b.im};
  else
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
}
template <class T>
__device__ __forceinline__ T difference_of(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {a.re - b.re, a.im - b.im};
  else
    return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
}
// Rounded by itself: never joined with a sum to a fused multiply-add.
template <class T>
__device__ __forceinline__ T product_of(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {product_of(a.re, b.re) - product_of(a.im, b.im),
            product_of(a.re, b.im) + product_of(a.im, b.re)};
  else if constexpr (std::is_same_v<T, float>)
    return __fmul_rn(a, b);
  else if constexpr (std::is_same_v<T, double>)
    return __dmul_rn(a, b);
  else
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
}
template <class T>
__device__ __forceinline__ T quotient_of(T a, T b) {
  if constexpr (is_complex_v<T>) {
    // Smith's division: no overflow in between.
    const bool wide = fabs(b.re) >= fabs(b.im);
    const auto big = wide ? b.re : b.im, small = wide ? b.im : b.re;
    const auto ratio = small / big;
    const auto scale = 1 / (big + small * ratio);
    const auto re = wide ? a.re + a.im * ratio : a.re * ratio + a.im;
    const auto im = wide ? a.im - a.re * ratio : a.im * ratio - a.re;
    return {re * scale, im * scale};
  } else {
    return a / b;
  }
}
template <class T>
__device__ __forceinline__ double modulus(Complex<T> a) {
  if constexpr (sizeof(T) == 4)
    return sqrt(static_cast<double>(a.re) * a.re + static_cast<double>(a.im) * a.im);
  else
    return hypot(a.re, a.im);
}
template <class T>
__device__ __forceinline__ bool below_zero(T a) {
  if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return a < T(0);
}
template <class T>
__device__ __forceinline__ Wrap<T> magnitude(T a) {
  return below_zero(a) ? Wrap<T>(0) - Wrap<T>(a) : Wrap<T>(a);
}

// NaN where T has it.
template <class T>
__device__ __forceinline__ bool is_nan(T a) {
  if constexpr (is_complex_v<T>)
    return a.re != a.re || a.im != a.im;
  else
    return a != a;
}
template <class T>
__device__ __forceinline__ bool is_finite(T a) {
  if constexpr (is_complex_v<T>)
    return is_finite(a.re) && is_finite(a.im);
  else if constexpr (is_float_v<T>)
    return a - a == T(0);
  else
    return true;
}
template <class T>
__device__ __forceinline__ bool truth(T a) {
  if constexpr (is_complex_v<T>)
    return a.re != 0 || a.im != 0;
  else
    return a != T(0);
}

// --- functions used by several ops: float and double ---

template <class T>
__device__ __forceinline__ T sigmoid_of(T x) {
  return 1 / (1 + exp(-x));
}
// log(1 + e^x) without overflow.
template <class T>
__device__ __forceinline__ T softplus_of(T x) {
  return (x > 0 ? x : T(0)) + log1p(exp(-fabs(x)));
}
// The standard normal distribution function, accurate in the left tail too.
template <class T>
__device__ __forceinline__ T normal_cdf(T x) {
  return T(0.5) * erfc(-x * T(0.70710678118654752));
}

}  // namespace argosy::cuda
