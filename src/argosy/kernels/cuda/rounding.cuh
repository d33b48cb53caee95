#pragma once

#include <cstdint>

#include "argosy/kernels/cuda/common.cuh"

// Arithmetic that the compiler does not fuse, and sums in what is computed in.
namespace argosy::cuda {

// Products that are rounded by themselves, for positions that must be those of the CPU.
__device__ __forceinline__ float times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double times(double a, double b) {
  return __dmul_rn(a, b);
}

template <class T>
static __global__ void __launch_bounds__(256)
    round_sums_kernel(int64_t total, const float* __restrict__ from, T* __restrict__ to) {
  for (int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * 256)
    to[i] = store<T>(from[i]);
}

// Calls add(sums) with zeros of what T computes in, and rounds them into `out`.
template <class T, class F>
void with_sums(cudaStream_t stream, int64_t total, void* out, F&& add) {
  using C = Computed<T>;
  const size_t bytes = static_cast<size_t>(total) * sizeof(C);
  if constexpr (std::is_same_v<T, C>) {
    ARGOSY_CUDA(cudaMemsetAsync(out, 0, bytes, stream));
    add(static_cast<C*>(out));
  } else {
    const Scratch sums(stream, bytes);
    ARGOSY_CUDA(cudaMemsetAsync(sums.data(), 0, bytes, stream));
    add(sums.template data<C>());
    round_sums_kernel<T><<<grid(total, 256), 256, 0, stream>>>(total, sums.template data<C>(),
                                                               static_cast<T*>(out));
    ARGOSY_CUDA_LAUNCHED();
  }
}

}  // namespace argosy::cuda
