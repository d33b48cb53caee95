#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/loops_complex.h"
#include "argosy/kernels/cuda/ops_math.cuh"

// ARGOSY_MATH_LOOPS of real numbers, but for the special functions.
namespace argosy::cuda {
namespace {

// Integers are whole already.
template <class Op, class IntegerOp = SameOp>
bool rounded(cudaStream_t s, const LoopCall& c) {
  return unary<Op>(s, c, Floats{}) || unary<IntegerOp>(s, as_unsigned(c), Unsigned{});
}

}  // namespace

// Floating and complex.
#define ARGOSY_BOTH(name, Op)                                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) {              \
    return unary<Op>(s, c, Floats{}) || complex_##name##_loop(s, c); \
  }
#define ARGOSY_FLOATS1(name, Op)                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return unary<Op>(s, c, Floats{});                   \
  }
ARGOSY_BOTH(sqrt, SqrtOp)
ARGOSY_BOTH(rsqrt, RsqrtOp)
ARGOSY_BOTH(exp, ExpOp)
ARGOSY_BOTH(expm1, Expm1Op)
ARGOSY_BOTH(log, LogOp)
ARGOSY_BOTH(log2, Log2Op)
ARGOSY_BOTH(log10, Log10Op)
ARGOSY_BOTH(log1p, Log1pOp)
ARGOSY_BOTH(sin, SinOp)
ARGOSY_BOTH(cos, CosOp)
ARGOSY_BOTH(tan, TanOp)
ARGOSY_BOTH(asin, AsinOp)
ARGOSY_BOTH(acos, AcosOp)
ARGOSY_BOTH(atan, AtanOp)
ARGOSY_BOTH(sinh, SinhOp)
ARGOSY_BOTH(cosh, CoshOp)
ARGOSY_BOTH(tanh, TanhOp)
ARGOSY_BOTH(asinh, AsinhOp)
ARGOSY_BOTH(acosh, AcoshOp)
ARGOSY_BOTH(atanh, AtanhOp)
ARGOSY_BOTH(sigmoid, SigmoidOp)
ARGOSY_BOTH(conj, SameOp)
ARGOSY_BOTH(real, SameOp)
ARGOSY_BOTH(imag, ZeroOp)
ARGOSY_BOTH(angle, AngleOp)
ARGOSY_FLOATS1(exp2, Exp2Op)
ARGOSY_FLOATS1(deg2rad, RadiansOp)
ARGOSY_FLOATS1(rad2deg, DegreesOp)
ARGOSY_FLOATS1(erf, ErfOp)

bool floor_loop(cudaStream_t s, const LoopCall& c) {
  return rounded<FloorOp>(s, c);
}
bool ceil_loop(cudaStream_t s, const LoopCall& c) {
  return rounded<CeilOp>(s, c);
}
bool round_loop(cudaStream_t s, const LoopCall& c) {
  return rounded<RoundOp>(s, c);
}
bool trunc_loop(cudaStream_t s, const LoopCall& c) {
  return rounded<TruncOp>(s, c);
}
bool frac_loop(cudaStream_t s, const LoopCall& c) {
  return rounded<FracOp, ZeroOp>(s, c);
}

}  // namespace argosy::cuda
