#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cfloat>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "argosy/base/dtype.h"
#include "argosy/base/error.h"
#include "argosy/kernels/cuda/runtime.h"

// What device code shares: element types, loads of several elements, reductions in a block.
namespace argosy::cuda {

// --- element types ---

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

// Stored types of DType, and what is computed in: 16- and 8-bit floats in float.
using half_t = __half;
using bf16_t = __nv_bfloat16;
using f8_e4m3_t = __nv_fp8_e4m3;
using f8_e5m2_t = __nv_fp8_e5m2;
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
template <>
struct ComputedOf<f8_e4m3_t> {
  using type = float;
};
template <>
struct ComputedOf<f8_e5m2_t> {
  using type = float;
};
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

template <class T>
struct Type {
  using type = T;
};

// f(Type<T>{}) with the stored type of the dtype. Each set is its own function, since every type in
// it compiles the kernel once more.
#define ARGOSY_CUDA_CASE(name, cpp) \
  case DType::name:                 \
    return f(Type<cpp>{})

template <class F>
auto with_floating(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    ARGOSY_CUDA_CASE(float16, half_t);
    ARGOSY_CUDA_CASE(bfloat16, bf16_t);
    ARGOSY_CUDA_CASE(float32, float);
    ARGOSY_CUDA_CASE(float64, double);
    default:
      fail_dtype(what, dtype);
  }
}
template <class F>
auto with_integral(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    ARGOSY_CUDA_CASE(uint8, uint8_t);
    ARGOSY_CUDA_CASE(int8, int8_t);
    ARGOSY_CUDA_CASE(uint16, uint16_t);
    ARGOSY_CUDA_CASE(int16, int16_t);
    ARGOSY_CUDA_CASE(uint32, uint32_t);
    ARGOSY_CUDA_CASE(int32, int32_t);
    ARGOSY_CUDA_CASE(uint64, uint64_t);
    ARGOSY_CUDA_CASE(int64, int64_t);
    default:
      fail_dtype(what, dtype);
  }
}
// Floating and integral.
template <class F>
auto with_real(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    ARGOSY_CUDA_CASE(uint8, uint8_t);
    ARGOSY_CUDA_CASE(int8, int8_t);
    ARGOSY_CUDA_CASE(uint16, uint16_t);
    ARGOSY_CUDA_CASE(int16, int16_t);
    ARGOSY_CUDA_CASE(uint32, uint32_t);
    ARGOSY_CUDA_CASE(int32, int32_t);
    ARGOSY_CUDA_CASE(uint64, uint64_t);
    ARGOSY_CUDA_CASE(int64, int64_t);
    ARGOSY_CUDA_CASE(float16, half_t);
    ARGOSY_CUDA_CASE(bfloat16, bf16_t);
    ARGOSY_CUDA_CASE(float32, float);
    ARGOSY_CUDA_CASE(float64, double);
    default:
      fail_dtype(what, dtype);
  }
}
// int32 and int64.
template <class F>
auto with_index(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    ARGOSY_CUDA_CASE(int32, int32_t);
    ARGOSY_CUDA_CASE(int64, int64_t);
    default:
      fail_dtype(what, dtype);
  }
}
// Any dtype by its width, for kernels that only move elements.
struct alignas(16) Wide {
  uint64_t a, b;
};
template <class F>
auto with_width(int item_size, F&& f) {
  switch (item_size) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    default:
      return f(Type<Wide>{});
  }
}
#undef ARGOSY_CUDA_CASE

// --- several elements at once ---

template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T at[n];
};
// Elements that fit into the widest access.
template <class T>
inline constexpr int kPack = sizeof(T) >= 16 ? 1 : 16 / static_cast<int>(sizeof(T));

inline bool aligned(const void* address, size_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

// --- reductions ---

inline constexpr int kWarp = 32;

template <class T, class F>
__device__ __forceinline__ T warp_reduce(T v, F f) {
#pragma unroll
  for (int step = kWarp / 2; step; step /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

// Of all threads of a block of a multiple of 32 threads, at most 1024; every thread gets it.
// `shared`: 32 items. Calls must be apart by a barrier, which the end of this one is.
template <class T, class F>
__device__ __forceinline__ T block_reduce(T v, T identity, F f, T* shared) {
  v = warp_reduce(v, f);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  v = lane < warps ? shared[lane] : identity;
  v = warp_reduce(v, f);
  __syncthreads();
  return v;
}

struct Sum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b || b != b ? b : a;  // NaN wins
  }
};
struct Min {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

// --- division by a number known on the host ---

// n / d and n % d for 0 <= n < 2^31 without a division (Granlund and Montgomery 1994).
struct Divider {
  uint32_t d = 1, magic = 0, shift = 0;
  Divider() = default;
  explicit Divider(uint32_t divisor) : d(divisor) {
    while (shift < 32 && (uint64_t{1} << shift) < d) ++shift;
    magic = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
  __device__ __forceinline__ uint32_t quotient(uint32_t n) const {
    return (__umulhi(n, magic) + n) >> shift;
  }
};

}  // namespace argosy::cuda
