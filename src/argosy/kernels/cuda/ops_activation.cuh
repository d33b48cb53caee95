#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/near.cuh"

// Of loops_activation.cu. nan stays nan in all of these but where Paddle's formula says otherwise.
namespace argosy::cuda {

template <class T>
__device__ __forceinline__ T clamp(T x, T low, T high) {
  const T v = x < low ? low : x;
  return v > high ? high : v;
}

// clang-format off
ARGOSY_CUDA_OP(ReluOp, light, T x) { return x <= T(0) ? T(0) : x; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Relu6Op, light, T x) { return clamp(x, T(0), T(6)); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(LeakyReluOp, light, T x, const N& p) {
  return x > 0 ? x : x * p.a;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(EluOp, medium, T x, const N& p) {
  return x > 0 ? x : p.a * expm1(x);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(CeluOp, medium, T x, const N& p) {
  return x > 0 ? x : p.a * expm1(x / p.a);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SeluOp, medium, T x, const N& p) {
  return p.a * (x > 0 ? x : p.b * expm1(x));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(GeluOp, medium, T x) { return x * normal_cdf(x); } ARGOSY_CUDA_END
// tanh form: Phi(x) ~ (1 + tanh(u)) / 2 = sigmoid(2 u), u = k (x + c x^3).
ARGOSY_CUDA_OP(GeluTanhOp, medium, T x) {
  const T inner = T(1.59576912160573071176) * fma(T(0.044715) * x, x * x, x);
  return x * sigmoid_of(inner);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SiluOp, medium, T x) { return x * sigmoid_of(x); } ARGOSY_CUDA_END
// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2).
ARGOSY_CUDA_OP(MishOp, medium, T x) {
  const T e = exp(x > 20 ? T(20) : x), n = e * (e + 2);
  return x * (n / (n + 2));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SoftsignOp, light, T x) { return x / (1 + fabs(x)); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TanhshrinkOp, medium, T x) { return x - tanh(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogSigmoidOp, medium, T x) { return -softplus_of(-x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SoftplusOp, medium, T x, const N& p) {
  const T scaled = x * p.a;
  return scaled > p.b ? x : softplus_of(scaled) / p.a;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(HardtanhOp, light, T x, const N& p) {
  return clamp(x, p.a, p.b);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(HardsigmoidOp, light, T x, const N& p) {
  return clamp(x * p.a + p.b, T(0), T(1));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(HardswishOp, light, T x) { return x * clamp(x + 3, T(0), T(6)) / 6; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SoftshrinkOp, light, T x, const N& p) {
  return x - clamp(x, -p.a, p.a);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(HardshrinkOp, light, T x, const N& p) {
  return x >= -p.a && x <= p.a ? T(0) : x;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ThresholdedReluOp, light, T x, const N& p) {
  return x <= p.a ? p.b : x;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(StanhOp, medium, T x, const N& p) {
  return p.b * tanh(p.a * x);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(PreluOp, light, T x, T w) { return x > 0 ? x : x * w; } ARGOSY_CUDA_END

ARGOSY_CUDA_OP(GeluNear, light, T x) { return x * near::normal(x).cdf; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(GeluTanhNear, light, T x) {
  const T inner = T(1.59576912160573071176) * fma(T(0.044715) * x, x * x, x);
  return x * near::sigmoid(inner);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SiluNear, light, T x) { return x * near::sigmoid(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MishNear, light, T x) {
  const T e = near::exp(x > 20 ? T(20) : x), n = e * (e + 2);
  return x * (n * near::reciprocal(n + 2));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogSigmoidNear, light, T x) { return -near::softplus(-x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SoftplusNear, light, T x, const N& p) {
  const T scaled = x * p.a;
  return scaled > p.b ? x : near::softplus(scaled) / p.a;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(HardswishNear, light, T x) {
  return x * clamp(x + 3, T(0), T(6)) * T(1.0 / 6);
}
ARGOSY_CUDA_END
// clang-format on

ARGOSY_CUDA_NEAR(GeluOp, GeluNear)
ARGOSY_CUDA_NEAR(GeluTanhOp, GeluTanhNear)
ARGOSY_CUDA_NEAR(SiluOp, SiluNear)
ARGOSY_CUDA_NEAR(MishOp, MishNear)
ARGOSY_CUDA_NEAR(LogSigmoidOp, LogSigmoidNear)
ARGOSY_CUDA_NEAR(SoftplusOp, SoftplusNear)
ARGOSY_CUDA_NEAR(HardswishOp, HardswishNear)

}  // namespace argosy::cuda
