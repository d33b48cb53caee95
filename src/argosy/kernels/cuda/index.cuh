#pragma once

#include "argosy/kernels/cuda/bounds.cuh"
#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/gather.h"

// What kernels that move elements by index share.
namespace argosy::cuda {

// The place of what is out of range. Strides may be negative, so other places may be below 0.
inline constexpr int64_t kNowhere = INT64_MIN;

__device__ __forceinline__ int64_t load_index(const Index& index, int64_t i) {
  return index.wide ? static_cast<const int64_t*>(index.data)[i]
                    : static_cast<const int32_t*>(index.data)[i];
}
// The i-th number in [0, size), or -1 for one out of range, which is told.
__device__ __forceinline__ int64_t wrapped(const Index& index, int64_t i, int64_t size) {
  const int64_t given = load_index(index, i);
  const int64_t at = given < 0 ? given + size : given;
  if (at >= 0 && at < size) return at;
  tell(index.watch, given, size);
  return -1;
}

// i / d and i % d; of less than 2^31 items without a division.
struct Splitter {
  int64_t d = 1;
  bool small = false;
  Divider divider;
  Splitter() = default;
  Splitter(int64_t divisor, int64_t items) : d(divisor < 1 ? 1 : divisor) {
    small = items < (int64_t{1} << 31) && d < (int64_t{1} << 31);
    if (small) divider = Divider(static_cast<uint32_t>(d));
  }
  __device__ __forceinline__ int64_t split(int64_t i, int64_t* rest) const {
    if (small) {
      const uint32_t q = divider.quotient(static_cast<uint32_t>(i));
      *rest = static_cast<uint32_t>(i) - q * divider.d;
      return q;
    }
    const int64_t q = i / d;
    *rest = i - q * d;
    return q;
  }
};

// run(i) for all i < n, several at a time.
inline constexpr int kThreads = 256;
template <class Run>
__global__ void __launch_bounds__(kThreads) each_item(int64_t n, const __grid_constant__ Run run) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    run(i);
}
template <class Run>
void for_each_item(cudaStream_t stream, int64_t n, Run run) {
  if (n <= 0) return;
  each_item<<<grid(n, kThreads), kThreads, 0, stream>>>(n, run);
  ARGOSY_CUDA_LAUNCHED();
}

// target[i] = source[from(i)], `none` where that is kNowhere. Each thread has kAtOnce under way.
inline constexpr int kAtOnce = 4;
template <class T, class From>
__global__ void __launch_bounds__(kThreads)
    gather_items(T* __restrict__ target, const T* __restrict__ source, int64_t n, T none,
                 const __grid_constant__ From from) {
  constexpr int64_t kTile = int64_t{kThreads} * kAtOnce;
  for (int64_t base = blockIdx.x * kTile; base < n; base += gridDim.x * kTile) {
    T items[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t i = base + k * kThreads + threadIdx.x;
      if (i >= n) continue;
      const int64_t place = from(i);
      items[k] = place == kNowhere ? none : source[place];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t i = base + k * kThreads + threadIdx.x;
      if (i < n) target[i] = items[k];
    }
  }
}
template <class T, class From>
void gather_each(cudaStream_t stream, void* target, const void* source, int64_t n, From from,
                 T none = T{}) {
  if (n <= 0) return;
  gather_items<T><<<grid(n, int64_t{kThreads} * kAtOnce), kThreads, 0, stream>>>(
      static_cast<T*>(target), static_cast<const T*>(source), n, none, from);
  ARGOSY_CUDA_LAUNCHED();
}

// The widest access, in bytes, that divides all of the numbers; at most 16.
template <class... N>
int widest(N... bytes) {
  const uint64_t all = (static_cast<uint64_t>(bytes) | ... | uint64_t{16});
  return static_cast<int>(all & (~all + 1));
}

// --- additions that several threads make to one place ---

template <class T>
__device__ __forceinline__ T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (is_complex_v<T>) {
    return {a.re + b.re, a.im + b.im};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return store<T>(load(a) + load(b));
  }
}

// *at = f(*at), for elements of 1, 2, 4 or 8 bytes, as one step.
template <class T, class F>
__device__ void change(T* at, F f) {
  if constexpr (sizeof(T) >= 4) {
    using Word = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;
    Word* word = reinterpret_cast<Word*>(at);
    Word old = *word, seen;
    do {
      seen = old;
      T value;
      memcpy(&value, &seen, sizeof(T));
      value = f(value);
      Word next;
      memcpy(&next, &value, sizeof(T));
      if (next == seen) return;
      old = atomicCAS(word, seen, next);
    } while (old != seen);
  } else {
    const auto address = reinterpret_cast<uintptr_t>(at);
    auto* word = reinterpret_cast<unsigned int*>(address & ~uintptr_t{3});
    const int shift = static_cast<int>(address & 3) * 8;
    constexpr unsigned int kMask = sizeof(T) == 1 ? 0xffu : 0xffffu;
    using Bits = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;
    unsigned int old = *word, seen;
    do {
      seen = old;
      Bits bits = static_cast<Bits>(seen >> shift);
      T value;
      memcpy(&value, &bits, sizeof(T));
      value = f(value);
      memcpy(&bits, &value, sizeof(T));
      const unsigned int next =
          (seen & ~(kMask << shift)) | (static_cast<unsigned int>(bits) << shift);
      if (next == seen) return;
      old = atomicCAS(word, seen, next);
    } while (old != seen);
  }
}

template <class T>
__device__ __forceinline__ void add_at(T* at, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    if (v) *at = true;
  } else if constexpr (is_complex_v<T>) {
    atomicAdd(&at->re, v.re);
    atomicAdd(&at->im, v.im);
  } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, half_t> ||
                       std::is_same_v<T, bf16_t>) {
    atomicAdd(at, v);
  } else if constexpr (sizeof(T) == 8) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(v));
  } else if constexpr (sizeof(T) == 4) {
    atomicAdd(reinterpret_cast<unsigned int*>(at), static_cast<unsigned int>(v));
  } else {
    change(at, [v](T old) { return plus(old, v); });
  }
}

// Neighbours that one atomic operation adds.
__device__ __forceinline__ void add_at(float4* at, float4 v) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(at, v);
#else
  atomicAdd(&at->x, v.x);
  atomicAdd(&at->y, v.y);
  atomicAdd(&at->z, v.z);
  atomicAdd(&at->w, v.w);
#endif
}
__device__ __forceinline__ void add_at(__half2* at, __half2 v) {
  atomicAdd(at, v);
}
__device__ __forceinline__ void add_at(__nv_bfloat162* at, __nv_bfloat162 v) {
  atomicAdd(at, v);
}

// f(Type<T>{}) of all that can be added.
template <class F>
void with_addable(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(Type<bool>{});
    case DType::complex64:
      return f(Type<c64>{});
    case DType::complex128:
      return f(Type<c128>{});
    default:
      return with_real(what, dtype, f);
  }
}

// f(Type<T>{}, n) where T is n neighbours that one atomic operation adds, if rows of `width` have
// them; else the element itself and 1.
template <class F>
void with_neighbours(const char* what, DType dtype, int64_t width, const void* target,
                     const void* values, F&& f) {
  const auto both = reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(values);
  if (dtype == DType::float32 && width % 4 == 0 && both % 16 == 0) return f(Type<float4>{}, 4);
  if (dtype == DType::float16 && width % 2 == 0 && both % 4 == 0) return f(Type<__half2>{}, 2);
  if (dtype == DType::bfloat16 && width % 2 == 0 && both % 4 == 0)
    return f(Type<__nv_bfloat162>{}, 2);
  with_addable(what, dtype, [&](auto type) { f(type, 1); });
}

}  // namespace argosy::cuda
