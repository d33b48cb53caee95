#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"

// Of loops_compare.cu: results are bool, a byte of 0 or 1.
namespace argosy::cuda {

ARGOSY_CUDA_OP(EqualOp, light, T a, T b) {
  if constexpr (is_complex_v<T>)
    return a.re == b.re && a.im == b.im;
  else
    return a == b;
}
ARGOSY_CUDA_END
// clang-format off
ARGOSY_CUDA_OP(NotEqualOp, light, T a, T b) { return !EqualOp{}(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LessOp, light, T a, T b) { return a < b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LessEqualOp, light, T a, T b) { return a <= b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogicalAndOp, light, T a, T b) { return truth(a) && truth(b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogicalOrOp, light, T a, T b) { return truth(a) || truth(b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogicalXorOp, light, T a, T b) { return truth(a) != truth(b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogicalNotOp, light, T a) { return !truth(a); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(IsnanOp, light, T a) { return is_nan(a); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(IsfiniteOp, light, T a) { return is_finite(a); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(IsinfOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return (!is_finite(a.re) && !is_nan(a.re)) || (!is_finite(a.im) && !is_nan(a.im));
  else
    return !is_finite(a) && !is_nan(a);
}
ARGOSY_CUDA_END
// clang-format on

}  // namespace argosy::cuda
