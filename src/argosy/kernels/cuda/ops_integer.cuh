#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"

// Of loops_integer.cu. What divides by the integer 0 gives 0.
namespace argosy::cuda {

template <class T>
__device__ __forceinline__ bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}
template <class T>
__device__ __forceinline__ T opposite(T a) {
  return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
}
// Whether a remainder of a division that rounds to zero has the other sign than the divisor.
template <class T>
__device__ __forceinline__ bool turned(T r, T b) {
  return r != 0 && below_zero(b) != below_zero(r);
}

ARGOSY_CUDA_OP(TruncDivideOp, medium, T a, T b) {
  if constexpr (is_float_v<T>)
    return trunc(a / b);
  else
    return b == 0 ? T(0) : is_minus_one(b) ? opposite(a) : static_cast<T>(a / b);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FmodOp, heavy, T a, T b) {
  if constexpr (is_float_v<T>)
    return fmod(a, b);
  else
    return b == 0 || is_minus_one(b) ? T(0) : static_cast<T>(a % b);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RemainderOp, heavy, T a, T b) {
  const T r = FmodOp{}(a, b);
  return static_cast<T>(turned(r, b) ? r + b : r);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FloorDivideOp, heavy, T a, T b) {
  if constexpr (is_float_v<T>) {
    const T r = fmod(a, b), ratio = a / b;
    T q = (a - r) / b;
    q = turned(r, b) ? q - 1 : q;
    // (a - r) / b is a whole number up to rounding.
    const T f = floor(q);
    const T whole = q - f > T(0.5) ? f + 1 : f;
    const T zero = ratio < 0 || 1 / ratio < 0 ? T(-0.0) : T(0);
    return b == 0 ? ratio : q == 0 ? zero : whole;
  } else {
    if (b == 0) return T(0);
    if (is_minus_one(b)) return opposite(a);
    const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
    return static_cast<T>(turned(r, b) ? q - 1 : q);
  }
}
ARGOSY_CUDA_END

template <class T>
__device__ __forceinline__ Wrap<T> gcd_of(T a, T b) {
  Wrap<T> x = magnitude(a), y = magnitude(b);
  while (y) {
    const Wrap<T> r = x % y;
    x = y;
    y = r;
  }
  return x;
}
ARGOSY_CUDA_OP(GcdOp, heavy, T a, T b) {
  return static_cast<T>(gcd_of(a, b));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LcmOp, heavy, T a, T b) {
  if (a == 0 || b == 0) return T(0);
  return static_cast<T>(magnitude(a) / gcd_of(a, b) * magnitude(b));
}
ARGOSY_CUDA_END

// clang-format off
ARGOSY_CUDA_OP(AndOp, light, T a, T b) { return static_cast<T>(a & b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(OrOp, light, T a, T b) { return static_cast<T>(a | b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(XorOp, light, T a, T b) { return static_cast<T>(a ^ b); } ARGOSY_CUDA_END
// clang-format on
ARGOSY_CUDA_OP(NotOp, light, T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
ARGOSY_CUDA_END

template <class T>
__device__ __forceinline__ bool outside(T count) {
  return below_zero(count) || count >= static_cast<T>(sizeof(T) * 8);
}
ARGOSY_CUDA_OP(LeftShiftOp, light, T a, T b) {
  const T shifted =
      static_cast<T>(Wrap<T>(a) << (static_cast<uint32_t>(b) & (sizeof(Wrap<T>) * 8 - 1)));
  return outside(b) ? T(0) : shifted;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RightShiftOp, light, T a, T b) {
  const T shifted = static_cast<T>(a >> (static_cast<uint32_t>(b) & (sizeof(T) * 8 - 1)));
  return outside(b) ? static_cast<T>(below_zero(a) ? -1 : 0) : shifted;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RightShiftLogicalOp, light, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const T shifted =
      static_cast<T>(static_cast<U>(a) >> (static_cast<uint32_t>(b) & (sizeof(T) * 8 - 1)));
  return outside(b) ? T(0) : shifted;
}
ARGOSY_CUDA_END

}  // namespace argosy::cuda
