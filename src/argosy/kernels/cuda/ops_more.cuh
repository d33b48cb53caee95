#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"

// Of loops_more.cu.
namespace argosy::cuda {

ARGOSY_CUDA_OP_WITH(NanToNumOp, light, T x, const N& p) {
  return x != x ? p.a : x == T(INFINITY) ? p.b : x == T(-INFINITY) ? p.c : x;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ZeroNanOp, light, T x) {
  if constexpr (is_complex_v<T>)
    return is_nan(x) ? T{0, 0} : x;
  else
    return x == x ? x : T(0);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SignbitOp, light, T x) {
  if constexpr (is_float_v<T>)
    return copysign(T(1), x) < 0;
  else
    return below_zero(x);
}
ARGOSY_CUDA_END
// max(x, 0) - x z + log(1 + e^-|x|), which neither overflows nor cancels.
ARGOSY_CUDA_OP(LogitsLossOp, medium, T x, T z) {
  return (x > 0 ? x : T(0)) - product_of(x, z) + log1p(exp(-fabs(x)));
}
ARGOSY_CUDA_END

}  // namespace argosy::cuda
