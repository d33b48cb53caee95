#pragma once

#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/tables.h"

// The activations, for the two files that make loops of them: of every dtype, and of vectors of
// double.
namespace argosy::cpu::ARGOSY_ISA {
namespace {

// nan stays nan in all of these but where Paddle's formula says otherwise.
template <class T>
ARGOSY_INLINE T clamp(T x, T low, T high) {
  T v = x < low ? low : x;
  return v > high ? high : v;
}

constexpr auto kRelu = Exact{[](auto x) { return x <= 0 ? decltype(x)(0) : x; }};
constexpr auto kRelu6 = Exact{[](auto x) { return clamp<decltype(x)>(x, 0, 6); }};
constexpr auto kLeakyRelu = [](auto x, const auto& p) { return x > 0 ? x : x * p.a; };
constexpr auto kElu = [](auto x, const auto& p) { return x > 0 ? x : p.a * expm1_of(x); };
constexpr auto kCelu = [](auto x, const auto& p) { return x > 0 ? x : p.a * expm1_of(x / p.a); };
constexpr auto kSelu = [](auto x, const auto& p) { return p.a * (x > 0 ? x : p.b * expm1_of(x)); };
constexpr auto kGeluErf = [](auto x) { return x * normal_cdf(x); };
// tanh form: Phi(x) ~ (1 + tanh(k (x + c x^3))) / 2.
constexpr double kGeluK = 0.79788456080286535588, kGeluC = 0.044715;
template <class T>
ARGOSY_INLINE T gelu_inner(T x) {
  return T(kGeluK) * fma_of(T(kGeluC) * x, x * x, x);
}
constexpr auto kGeluTanh = [](auto x) {
  using T = decltype(x);
  return T(0.5) * x * (1 + tanh_of(gelu_inner(x)));
};
constexpr auto kSilu = [](auto x) { return x * sigmoid_of(x); };
// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2).
template <class T>
ARGOSY_INLINE T mish_n(T x) {
  T e = exp_of(x > 20 ? T(20) : x);
  return e * (e + 2);
}
constexpr auto kMish = [](auto x) {
  auto n = mish_n(x);
  return x * (n / (n + 2));
};
constexpr auto kSoftsign = [](auto x) { return x / (1 + abs_of(x)); };
constexpr auto kTanhshrink = [](auto x) { return x - tanh_of(x); };
constexpr auto kLogSigmoid = [](auto x) { return -softplus_of(-x); };
constexpr auto kSoftplus = [](auto x, const auto& p) {
  auto scaled = x * p.a;
  return scaled > p.b ? x : softplus_of(scaled) / p.a;
};
constexpr auto kHardtanh = [](auto x, const auto& p) { return clamp(x, p.a, p.b); };
constexpr auto kHardsigmoid = [](auto x, const auto& p) {
  return clamp<decltype(x)>(x * p.a + p.b, 0, 1);
};
constexpr auto kHardswish = [](auto x) {
  using T = decltype(x);
  return x * clamp<T>(x + 3, 0, 6) / 6;
};
constexpr auto kSoftshrink = [](auto x, const auto& p) { return x - clamp(x, -p.a, p.a); };
constexpr auto kHardshrink = [](auto x, const auto& p) {
  return x >= -p.a && x <= p.a ? decltype(x)(0) : x;
};
constexpr auto kThresholdedRelu = [](auto x, const auto& p) { return x <= p.a ? p.b : x; };
constexpr auto kStanh = [](auto x, const auto& p) { return p.b * tanh_of(p.a * x); };
constexpr auto kPrelu = [](auto x, auto w) { return x > 0 ? x : x * w; };

template <class T>
void gelu_contiguous(char* const* ptrs, int64_t n, const void* params) {
  bool tanh_form = params && static_cast<const LoopParams*>(params)->a != 0;
  (tanh_form ? map1<kGeluTanh, T, T> : map1<kGeluErf, T, T>)(ptrs, n, params);
}

constexpr auto kReluGrad = Exact{[](auto y, auto dy) { return y > 0 ? dy : 0; }};
constexpr auto kRelu6Grad = Exact{[](auto y, auto dy) { return y > 0 && y < 6 ? dy : 0; }};
constexpr auto kLeakyReluGrad = [](auto x, auto dy, const auto& p) {
  return x > 0 ? dy : dy * p.a;
};
constexpr auto kEluGrad = [](auto x, auto dy, const auto& p) {
  return x > 0 ? dy : dy * p.a * exp_of(x);
};
constexpr auto kCeluGrad = [](auto x, auto dy, const auto& p) {
  return x > 0 ? dy : dy * exp_of(x / p.a);
};
constexpr auto kSeluGrad = [](auto y, auto dy, const auto& p) {
  return y > 0 ? dy * p.a : dy * (y + p.a * p.b);
};
constexpr auto kGeluErfGrad = [](auto x, auto dy) __attribute__((always_inline)) {
  return dy * fma_of(x, normal_density(x), normal_cdf(x));
};
constexpr auto kGeluTanhGrad = [](auto x, auto dy) {
  using T = decltype(x);
  T t = tanh_of(gelu_inner(x));
  T slope = T(kGeluK) * (1 + T(3 * kGeluC) * x * x);
  return dy * T(0.5) * ((1 + t) + x * (1 - t * t) * slope);
};
constexpr auto kSiluGrad = [](auto x, auto dy) {
  auto s = sigmoid_of(x);
  return dy * s * (1 + x * (1 - s));
};
constexpr auto kMishGrad = [](auto x, auto dy) {
  auto n = mish_n(x);
  auto t = n / (n + 2);
  auto rest = 4 * (n + 1) / ((n + 2) * (n + 2));  // 1 - t^2
  return dy * (t + x * sigmoid_of(x) * rest);
};
constexpr auto kSoftsignGrad = [](auto x, auto dy) {
  auto d = 1 + abs_of(x);
  return dy / (d * d);
};
constexpr auto kTanhshrinkGrad = [](auto x, auto dy) {
  auto t = tanh_of(x);
  return dy * t * t;
};
constexpr auto kLogSigmoidGrad = [](auto x, auto dy) { return dy * sigmoid_of(-x); };
constexpr auto kSoftplusGrad = [](auto x, auto dy, const auto& p) {
  auto scaled = x * p.a;
  return scaled > p.b ? dy : dy * sigmoid_of(scaled);
};
constexpr auto kHardtanhGrad = [](auto x, auto dy, const auto& p) {
  return x > p.a && x < p.b ? dy : 0;
};
constexpr auto kHardsigmoidGrad = [](auto y, auto dy, const auto& p) {
  return y > 0 && y < 1 ? dy * p.a : 0;
};
constexpr auto kHardswishGrad = [](auto x, auto dy) {
  using T = decltype(x);
  T slope = x * T(1.0 / 3) + T(0.5);
  slope = x >= 3 ? T(1) : slope;
  return x <= -3 ? T(0) : dy * slope;
};
constexpr auto kShrinkGrad =
    Exact{[](auto x, auto dy, const auto& p) { return x >= -p.a && x <= p.a ? 0 : dy; }};
constexpr auto kThresholdedReluGrad = [](auto x, auto dy, const auto& p) {
  return x > p.a ? dy : 0;
};
constexpr auto kStanhGrad = [](auto x, auto dy, const auto& p) {
  auto t = tanh_of(p.a * x);
  return dy * p.a * p.b * (1 - t * t);
};
constexpr auto kSigmoidGrad = [](auto y, auto dy) { return dy * y * (1 - y); };
constexpr auto kTanhGrad = [](auto y, auto dy) { return dy * (1 - y * y); };
constexpr auto kSqrtGrad = [](auto y, auto dy) { return decltype(y)(0.5) * dy / y; };
constexpr auto kRsqrtGrad = [](auto y, auto dy) { return decltype(y)(-0.5) * dy * y * y * y; };
constexpr auto kReciprocalGrad = [](auto y, auto dy) { return -dy * y * y; };
constexpr auto kLogGrad = [](auto x, auto dy) { return dy / x; };
constexpr auto kSquareGrad = [](auto x, auto dy) { return 2 * x * dy; };
constexpr auto kAbsGrad = [](auto x, auto dy) { return x > 0 ? dy : x < 0 ? -dy : 0 * dy; };

template <class T>
void gelu_grad_contiguous(char* const* ptrs, int64_t n, const void* params) {
  bool tanh_form = params && static_cast<const LoopParams*>(params)->a != 0;
  (tanh_form ? map2<kGeluTanhGrad, T, T, T> : map2<kGeluErfGrad, T, T, T>)(ptrs, n, params);
}

}  // namespace
}  // namespace argosy::cpu::ARGOSY_ISA
