#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/loops_complex.h"
#include "argosy/kernels/cuda/math.cuh"

// ARGOSY_MATH2_LOOPS.
namespace argosy::cuda {
namespace {

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

}  // namespace

#define ARGOSY_FLOATS2(name, Op)                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return binary<Op>(s, c, Floats{});                  \
  }
ARGOSY_FLOATS2(atan2, Atan2Op)
ARGOSY_FLOATS2(hypot, HypotOp)
ARGOSY_FLOATS2(copysign, CopysignOp)
ARGOSY_FLOATS2(ldexp, LdexpOp)
ARGOSY_FLOATS2(logaddexp, LogaddexpOp)

bool pow_loop(cudaStream_t s, const LoopCall& c) {
  return binary<PowOp>(s, c, Floats{}) || binary<PowOp>(s, c, Integers{}) || complex_pow_loop(s, c);
}
bool nextafter_loop(cudaStream_t s, const LoopCall& c) {
  return binary<NextafterOp>(s, c, Types<float, double>{});
}
bool heaviside_loop(cudaStream_t s, const LoopCall& c) {
  return binary<HeavisideOp>(s, c, Floats{}) || binary<HeavisideOp>(s, c, Integers{});
}

}  // namespace argosy::cuda
