#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"

// Of loops_math2.cu.
namespace argosy::cuda {

// Integer powers wrap; a negative exponent gives the truncated reciprocal.
ARGOSY_CUDA_OP(PowOp, heavy, T a, T b) {
  if constexpr (is_float_v<T>) {
    return b == 2 ? a * a : pow(a, b);
  } else {
    if (below_zero(b))
      return a == T(1) ? T(1) : a == static_cast<T>(-1) ? static_cast<T>(b & 1 ? -1 : 1) : T(0);
    Wrap<T> base = Wrap<T>(a), result = 1;
    for (auto e = Wrap<T>(b); e; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogaddexpOp, heavy, T a, T b) {
  if (a == b) return a + T(0.69314718055994530942);  // both infinite too
  if (a != a || b != b) return a + b;
  return fmax(a, b) + log1p(exp(-fabs(a - b)));
}
ARGOSY_CUDA_END
// clang-format off
ARGOSY_CUDA_OP(Atan2Op, heavy, T a, T b) { return atan2(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(HypotOp, heavy, T a, T b) { return hypot(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(CopysignOp, light, T a, T b) { return copysign(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(NextafterOp, heavy, T a, T b) { return nextafter(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(HeavisideOp, light, T a, T b) {
  return a == T(0) ? b : static_cast<T>(a > T(0));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LdexpOp, heavy, T a, T b) { return a * exp2(b); } ARGOSY_CUDA_END
// clang-format on

}  // namespace argosy::cuda
