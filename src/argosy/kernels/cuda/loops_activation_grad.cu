#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/near.cuh"

// ARGOSY_ACTIVATION_GRAD_LOOPS: x or the forward's y, then dy.
namespace argosy::cuda {
namespace {

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

}  // namespace

ARGOSY_CUDA_NEAR(GeluGradOp, GeluGradNear)
ARGOSY_CUDA_NEAR(GeluTanhGradOp, GeluTanhGradNear)
ARGOSY_CUDA_NEAR(SiluGradOp, SiluGradNear)
ARGOSY_CUDA_NEAR(MishGradOp, MishGradNear)
ARGOSY_CUDA_NEAR(LogSigmoidGradOp, LogSigmoidGradNear)
ARGOSY_CUDA_NEAR(SoftplusGradOp, SoftplusGradNear)

#define ARGOSY_FLOATS2(name, Op)                        \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return binary<Op>(s, c, Floats{});                  \
  }
ARGOSY_FLOATS2(relu_grad, ReluGradOp)
ARGOSY_FLOATS2(relu6_grad, Relu6GradOp)
ARGOSY_FLOATS2(leaky_relu_grad, LeakyReluGradOp)
ARGOSY_FLOATS2(elu_grad, EluGradOp)
ARGOSY_FLOATS2(celu_grad, CeluGradOp)
ARGOSY_FLOATS2(selu_grad, SeluGradOp)
ARGOSY_FLOATS2(silu_grad, SiluGradOp)
ARGOSY_FLOATS2(mish_grad, MishGradOp)
ARGOSY_FLOATS2(softsign_grad, SoftsignGradOp)
ARGOSY_FLOATS2(tanhshrink_grad, TanhshrinkGradOp)
ARGOSY_FLOATS2(log_sigmoid_grad, LogSigmoidGradOp)
ARGOSY_FLOATS2(softplus_grad, SoftplusGradOp)
ARGOSY_FLOATS2(hardtanh_grad, HardtanhGradOp)
ARGOSY_FLOATS2(hardsigmoid_grad, HardsigmoidGradOp)
ARGOSY_FLOATS2(hardswish_grad, HardswishGradOp)
ARGOSY_FLOATS2(softshrink_grad, ShrinkGradOp)
ARGOSY_FLOATS2(thresholded_relu_grad, ThresholdedReluGradOp)
ARGOSY_FLOATS2(stanh_grad, StanhGradOp)
ARGOSY_FLOATS2(sigmoid_grad, SigmoidGradOp)
ARGOSY_FLOATS2(tanh_grad, TanhGradOp)
ARGOSY_FLOATS2(sqrt_grad, SqrtGradOp)
ARGOSY_FLOATS2(rsqrt_grad, RsqrtGradOp)
ARGOSY_FLOATS2(reciprocal_grad, ReciprocalGradOp)
ARGOSY_FLOATS2(log_grad, LogGradOp)
ARGOSY_FLOATS2(square_grad, SquareGradOp)
ARGOSY_FLOATS2(abs_grad, AbsGradOp)

bool hardshrink_grad_loop(cudaStream_t s, const LoopCall& c) {
  return softshrink_grad_loop(s, c);
}
bool gelu_grad_loop(cudaStream_t s, const LoopCall& c) {
  const bool tanh_form = c.params && c.params->a != 0;
  return tanh_form ? binary<GeluTanhGradOp>(s, c, Floats{}) : binary<GeluGradOp>(s, c, Floats{});
}

}  // namespace argosy::cuda
