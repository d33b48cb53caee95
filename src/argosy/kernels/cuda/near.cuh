#pragma once

#include "argosy/kernels/cuda/element.cuh"

// Functions of floats whose results are rounded to 16 bits: a few instructions each, relative
// errors below 1e-5 (half a unit of float16 is 2.4e-4 at least). exp, reciprocal and softplus give
// 0 below 1e-38.
namespace argosy::cuda::near {

__device__ __forceinline__ float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float exp(float x) {
  return near::exp2(x * 1.44269504f);
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / (1 + e^-x), both terms divided by 4: 0 where float32's e^-x is infinite, not sooner.
__device__ __forceinline__ float sigmoid(float x) {
  return reciprocal(0.25f + near::exp2(fmaf(x, -1.44269504f, -2.0f))) * 0.25f;
}
// log(1 + e) of 0 <= e <= 1.
__device__ __forceinline__ float log1p(float e) {
  const float series = e * fmaf(e, fmaf(e, 0.333333333f, -0.5f), 1.0f);
  return e < 0.015625f ? series : __logf(1 + e);
}
__device__ __forceinline__ float softplus(float x) {
  return fmaxf(x, 0.0f) + near::log1p(near::exp(-fabsf(x)));
}

// The normal distribution function and exp(-x^2 / 2): Phi(-t) = exp(-t^2 / 2) P(1 / (1 + p t)) for
// t >= 0, with the polynomial that is closest in relative error up to t = 13.3 among those that
// give 0.5 exactly at 0: x / 2 of a subnormal x may lie between two bfloat16 numbers.
struct Normal {
  float cdf, bell;
};
__device__ __forceinline__ Normal normal(float x) {
  const float k = reciprocal(fmaf(fabsf(x), 0.35f, 1.0f));
  float p = 0.04291327f;
  p = fmaf(p, k, -0.179107781f);
  p = fmaf(p, k, 0.20475483f);
  p = fmaf(p, k, 0.01247491101f);
  p = fmaf(p, k, 0.14222276f);
  p = fmaf(p, k, 0.136966818f);
  p = fmaf(p, k, 0.139775186f);
  constexpr float k24 = 1.0f / (1 << 24);  // subnormal bells are results too
  const float bell = near::exp2(fmaf(x * x, -0.72134752f, 24.0f)), tail = bell * (p * k) * k24;
  return {x > 0 ? 1 - tail : tail, bell * k24};
}

}  // namespace argosy::cuda::near
