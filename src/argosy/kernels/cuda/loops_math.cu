#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/loops_complex.h"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/near.cuh"

// ARGOSY_MATH_LOOPS of real numbers, but for the special functions.
namespace argosy::cuda {
namespace {

// clang-format off
ARGOSY_CUDA_OP(SqrtOp, light, T x) { return sqrt(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RsqrtOp, light, T x) { return 1 / sqrt(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ExpOp, medium, T x) { return exp(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Expm1Op, medium, T x) { return expm1(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Exp2Op, medium, T x) { return exp2(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogOp, medium, T x) { return log(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Log2Op, medium, T x) { return log2(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Log10Op, medium, T x) { return log10(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Log1pOp, medium, T x) { return log1p(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SinOp, heavy, T x) { return sin(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(CosOp, heavy, T x) { return cos(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TanOp, heavy, T x) { return tan(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AsinOp, heavy, T x) { return asin(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AcosOp, heavy, T x) { return acos(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AtanOp, heavy, T x) { return atan(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SinhOp, heavy, T x) { return sinh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(CoshOp, heavy, T x) { return cosh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TanhOp, medium, T x) { return tanh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AsinhOp, heavy, T x) { return asinh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AcoshOp, heavy, T x) { return acosh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AtanhOp, heavy, T x) { return atanh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SigmoidOp, medium, T x) { return sigmoid_of(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ErfOp, medium, T x) { return erf(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FloorOp, light, T x) { return floor(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(CeilOp, light, T x) { return ceil(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RoundOp, light, T x) { return rint(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TruncOp, light, T x) { return trunc(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(FracOp, light, T x) { return x - trunc(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(DegreesOp, light, T x) { return x * T(57.295779513082320877); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RadiansOp, light, T x) { return x * T(0.017453292519943295769); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SameOp, light, T x) { return x; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ZeroOp, light, T) { return T(0); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AngleOp, light, T x) {
  return x < 0 ? T(3.14159265358979323846) : x != x ? x : T(0);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RsqrtNear, light, T x) { return rsqrt(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SigmoidNear, light, T x) { return near::sigmoid(x); } ARGOSY_CUDA_END
// clang-format on

// Integers are whole already.
template <class Op, class IntegerOp = SameOp>
bool rounded(cudaStream_t s, const LoopCall& c) {
  return unary<Op>(s, c, Floats{}) || unary<IntegerOp>(s, as_unsigned(c), Unsigned{});
}

}  // namespace

ARGOSY_CUDA_NEAR(RsqrtOp, RsqrtNear)
ARGOSY_CUDA_NEAR(SigmoidOp, SigmoidNear)

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
