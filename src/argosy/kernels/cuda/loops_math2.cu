#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/loops_complex.h"
#include "argosy/kernels/cuda/ops_math2.cuh"

// ARGOSY_MATH2_LOOPS.
namespace argosy::cuda {

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
