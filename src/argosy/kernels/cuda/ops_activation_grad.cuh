#pragma once

#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/near.cuh"

// Of loops_activation_grad.cu: x or the forward's y, then dy.
namespace argosy::cuda {

template <class T>
__device__ __forceinline__ T mish_n(T x) {
  const T e = exp(x > 20 ? T(20) : x);
  return e * (e + 2);
}

// clang-format off
ARGOSY_CUDA_OP(ReluGradOp, light, T y, T dy) { return y > 0 ? dy : T(0); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(Relu6GradOp, light, T y, T dy) { return y > 0 && y < 6 ? dy : T(0); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(LeakyReluGradOp, light, T x, T dy, const N& p) {
  return x > 0 ? dy : dy * p.a;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(EluGradOp, medium, T x, T dy, const N& p) {
  return x > 0 ? dy : dy * p.a * exp(x);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(CeluGradOp, medium, T x, T dy, const N& p) {
  return x > 0 ? dy : dy * exp(x / p.a);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SeluGradOp, light, T y, T dy, const N& p) {
  return y > 0 ? dy * p.a : dy * (y + p.a * p.b);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(GeluGradOp, medium, T x, T dy) {
  const T density = T(0.39894228040143267794) * exp(T(-0.5) * x * x);
  return dy * fma(x, density, normal_cdf(x));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(GeluTanhGradOp, medium, T x, T dy) {
  constexpr T k = T(0.79788456080286535588);
  const T t = tanh(k * fma(T(0.044715) * x, x * x, x));
  const T slope = k * (1 + T(3 * 0.044715) * x * x);
  return dy * T(0.5) * ((1 + t) + x * (1 - t * t) * slope);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SiluGradOp, medium, T x, T dy) {
  const T s = sigmoid_of(x);
  return dy * s * (1 + x * (1 - s));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MishGradOp, medium, T x, T dy) {
  const T n = mish_n(x), t = n / (n + 2);
  const T rest = 4 * (n + 1) / ((n + 2) * (n + 2));  // 1 - t^2
  return dy * (t + x * sigmoid_of(x) * rest);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SoftsignGradOp, light, T x, T dy) {
  const T d = 1 + fabs(x);
  return dy / (d * d);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TanhshrinkGradOp, medium, T x, T dy) {
  const T t = tanh(x);
  return dy * t * t;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogSigmoidGradOp, medium, T x, T dy) { return dy * sigmoid_of(-x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SoftplusGradOp, medium, T x, T dy, const N& p) {
  const T scaled = x * p.a;
  return scaled > p.b ? dy : dy * sigmoid_of(scaled);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(HardtanhGradOp, light, T x, T dy, const N& p) {
  return x > p.a && x < p.b ? dy : T(0);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(HardsigmoidGradOp, light, T y, T dy, const N& p) {
  return y > 0 && y < 1 ? dy * p.a : T(0);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(HardswishGradOp, light, T x, T dy) {
  const T slope = x >= 3 ? T(1) : x * T(1.0 / 3) + T(0.5);
  return x <= -3 ? T(0) : dy * slope;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ShrinkGradOp, light, T x, T dy, const N& p) {
  return x >= -p.a && x <= p.a ? T(0) : dy;
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(ThresholdedReluGradOp, light, T x, T dy, const N& p) {
  return x > p.a ? dy : T(0);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(StanhGradOp, medium, T x, T dy, const N& p) {
  const T t = tanh(p.a * x);
  return dy * p.a * p.b * (1 - t * t);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SigmoidGradOp, light, T y, T dy) { return dy * y * (1 - y); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(TanhGradOp, light, T y, T dy) { return dy * (1 - y * y); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SqrtGradOp, light, T y, T dy) { return T(0.5) * dy / y; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(RsqrtGradOp, light, T y, T dy) { return T(-0.5) * dy * y * y * y; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ReciprocalGradOp, light, T y, T dy) { return -dy * y * y; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogGradOp, light, T x, T dy) { return dy / x; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SquareGradOp, light, T x, T dy) { return 2 * x * dy; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AbsGradOp, light, T x, T dy) {
  return x > 0 ? dy : x < 0 ? -dy : 0 * dy;
}
ARGOSY_CUDA_END

ARGOSY_CUDA_OP(GeluGradNear, light, T x, T dy) {
  const near::Normal at = near::normal(x);
  return dy * fma(x, T(0.39894228) * at.bell, at.cdf);
}
ARGOSY_CUDA_END
// With s = sigmoid(2 u): (1 + tanh(u)) / 2 = s, 1 - tanh(u)^2 = 4 s (1 - s).
ARGOSY_CUDA_OP(GeluTanhGradNear, light, T x, T dy) {
  constexpr T k = T(0.79788456080286535588);
  const T s = near::sigmoid(2 * k * fma(T(0.044715) * x, x * x, x));
  const T slope = k * (1 + T(3 * 0.044715) * x * x);
  return dy * (s + 2 * x * slope * (s * (1 - s)));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(SiluGradNear, light, T x, T dy) {
  const T s = near::sigmoid(x);
  return dy * s * (1 + x * (1 - s));
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(MishGradNear, light, T x, T dy) {
  const T e = near::exp(x > 20 ? T(20) : x), n = e * (e + 2);
  const T r = near::reciprocal(n + 2);
  return dy * (n * r + x * near::sigmoid(x) * (4 * (n + 1) * r) * r);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LogSigmoidGradNear, light, T x, T dy) {
  return dy * near::sigmoid(-x);
}
ARGOSY_CUDA_END
ARGOSY_CUDA_OP_WITH(SoftplusGradNear, light, T x, T dy, const N& p) {
  const T scaled = x * p.a;
  return scaled > p.b ? dy : dy * near::sigmoid(scaled);
}
ARGOSY_CUDA_END
// clang-format on

ARGOSY_CUDA_NEAR(GeluGradOp, GeluGradNear)
ARGOSY_CUDA_NEAR(GeluTanhGradOp, GeluTanhGradNear)
ARGOSY_CUDA_NEAR(SiluGradOp, SiluGradNear)
ARGOSY_CUDA_NEAR(MishGradOp, MishGradNear)
ARGOSY_CUDA_NEAR(LogSigmoidGradOp, LogSigmoidGradNear)
ARGOSY_CUDA_NEAR(SoftplusGradOp, SoftplusGradNear)

}  // namespace argosy::cuda
