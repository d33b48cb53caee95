#pragma once

#include <cfloat>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "argosy/base/dtype.h"
#include "argosy/base/error.h"
#include "argosy/kernels/cuda/element.cuh"
#include "argosy/kernels/cuda/runtime.h"

// What device code shares: types by dtype, loads of several elements, reductions in a block.
namespace argosy::cuda {

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

}  // namespace argosy::cuda
