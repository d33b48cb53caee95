#pragma once

// Elements of tensors as device code has them: their types, what they are computed in, several of
// them at once. NVRTC compiles this, too (chain.h): it has no headers of the host.
#ifdef __CUDACC_RTC__
#include "argosy/kernels/cuda/chain_std.cuh"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#endif
#include "argosy/kernels/cuda/divider.h"

namespace argosy::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};
using c64 = Complex<float>;
using c128 = Complex<double>;
template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<Complex<T>> = true;

// Any dtype by its width, for what only moves elements.
struct alignas(16) Wide {
  uint64_t a, b;
};

// Stored types of DType, and what is computed in: 16- and 8-bit floats in float.
#ifdef __CUDACC_RTC__
struct half_t {
  uint16_t bits;
};
struct bf16_t {
  uint16_t bits;
};
#else
using half_t = __half;
using bf16_t = __nv_bfloat16;
using f8_e4m3_t = __nv_fp8_e4m3;
using f8_e5m2_t = __nv_fp8_e5m2;
#endif
template <class T>
struct ComputedOf {
  using type = T;
};
template <>
struct ComputedOf<half_t> {
  using type = float;
};
template <>
struct ComputedOf<bf16_t> {
  using type = float;
};
#ifndef __CUDACC_RTC__
template <>
struct ComputedOf<f8_e4m3_t> {
  using type = float;
};
template <>
struct ComputedOf<f8_e5m2_t> {
  using type = float;
};
#endif
template <class T>
using Computed = typename ComputedOf<T>::type;

template <class T>
__device__ __forceinline__ Computed<T> load(T v) {
  return static_cast<Computed<T>>(v);
}
template <class T>
__device__ __forceinline__ T store(Computed<T> v) {
  return static_cast<T>(v);
}

#ifdef __CUDACC_RTC__
// By the instructions that the conversions of cuda_fp16.h and cuda_bf16.h are.
template <>
__device__ __forceinline__ float load<half_t>(half_t v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
  return f;
}
template <>
__device__ __forceinline__ float load<bf16_t>(bf16_t v) {
  return __uint_as_float(static_cast<uint32_t>(v.bits) << 16);
}
template <>
__device__ __forceinline__ half_t store<half_t>(float v) {
  half_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(v));
  return h;
}
template <>
__device__ __forceinline__ bf16_t store<bf16_t>(float v) {
  bf16_t b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(v));
  return b;
}
#else
// Too large: NaN of e4m3, infinity of e5m2, as on the CPU.
template <>
__device__ __forceinline__ f8_e4m3_t store<f8_e4m3_t>(float v) {
  f8_e4m3_t out;
  out.__x = __nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E4M3);
  return out;
}
template <>
__device__ __forceinline__ f8_e5m2_t store<f8_e5m2_t>(float v) {
  f8_e5m2_t out;
  out.__x = __nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E5M2);
  return out;
}
#endif

template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T at[n];
};

}  // namespace argosy::cuda
