#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"

// Of loops_arithmetic.cu.
namespace argosy::cuda {

// clang-format off
ARGOSY_CUDA_OP(AddOp, light, T a, T b) { return sum_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SubtractOp, light, T a, T b) { return difference_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MultiplyOp, light, T a, T b) { return product_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(DivideOp, light, T a, T b) { return quotient_of(a, b); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MaximumOp, light, T a, T b) { return a > b || a != a ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MinimumOp, light, T a, T b) { return a < b || a != a ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FmaxOp, light, T a, T b) { return a > b || b != b ? a : b; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FminOp, light, T a, T b) { return a < b || b != b ? a : b; } ARGOSY_CUDA_END
// clang-format on

ARGOSY_CUDA_OP(NegativeOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return T{-a.re, -a.im};
  else if constexpr (is_float_v<T>)
    return -a;
  else
    return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AbsoluteOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return modulus(a);
  else if constexpr (is_float_v<T>)
    return fabs(a);
  else
    return static_cast<T>(magnitude(a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SignOp, light, T a) {
  if constexpr (is_complex_v<T>) {
    const auto m = static_cast<decltype(a.re)>(modulus(a));
    return m == 0 ? T{0, 0} : T{a.re / m, a.im / m};
  } else {
    const T s = static_cast<T>(static_cast<T>(a > T(0)) - static_cast<T>(below_zero(a)));
    return a != a ? a : s;
  }
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SquareOp, light, T a) {
  return product_of(a, a);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ReciprocalOp, light, T a) {
  if constexpr (is_complex_v<T>)
    return quotient_of(T{1, 0}, a);
  else
    return T(1) / a;
}
ARGOSY_CUDA_END
struct WhereOp {
  ARGOSY_CUDA_WORDS(WhereOp, light)
  static constexpr bool kMoves = true;
  template <class T>
  __device__ __forceinline__ T operator()(uint8_t condition, T a, T b) const {
    return condition ? a : b;
  }
};
ARGOSY_CUDA_OP(FmaOp, light, T a, T b, T c) {
  return sum_of(product_of(a, b), c);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LerpOp, light, T a, T b, T w) {
  return sum_of(a, product_of(w, difference_of(b, a)));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ScaleOp, light, T a, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{product_of(a.re, p.a) + p.b, a.im * p.a};
  else
    return sum_of(product_of(a, T(p.a)), T(p.b));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ScaleAfterBiasOp, light, T a, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{(a.re + p.b) * p.a, a.im * p.a};
  else
    return product_of(sum_of(a, T(p.b)), T(p.a));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(AxpyOp, light, T a, T b, const N& p) {
  if constexpr (is_complex_v<T>)
    return T{product_of(a.re, p.a) + product_of(b.re, p.b),
             product_of(a.im, p.a) + product_of(b.im, p.b)};
  else
    return sum_of(product_of(a, T(p.a)), product_of(b, T(p.b)));
}
ARGOSY_CUDA_END
struct DropoutOp {
  ARGOSY_CUDA_WORDS(DropoutOp, light)
  template <class T, class N>
  __device__ __forceinline__ T operator()(T x, uint8_t keep, const N& p) const {
    return keep ? x * p.a : T(0);
  }
};
ARGOSY_CUDA_OP_WITH(ClipOp, light, T x, const N& p) {
  const T low = x < T(p.a) ? T(p.a) : x;
  return low > T(p.b) ? T(p.b) : low;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ClipGradOp, light, T x, T dy, const N& p) {
  return x >= T(p.a) && x <= T(p.b) ? dy : T(0);
}
ARGOSY_CUDA_END

}  // namespace argosy::cuda
