#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/near.cuh"

// Of loops_math.cu.
namespace argosy::cuda {

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

ARGOSY_CUDA_NEAR(RsqrtOp, RsqrtNear)
ARGOSY_CUDA_NEAR(SigmoidOp, SigmoidNear)

}  // namespace argosy::cuda
