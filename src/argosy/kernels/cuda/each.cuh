#pragma once

#include "argosy/kernels/cuda/common.cuh"

namespace argosy::cuda {

inline constexpr int kEachThreads = 256;

template <class F>
__global__ void __launch_bounds__(kEachThreads) each_kernel(int64_t n, F f) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kEachThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kEachThreads)
    f(i);
}
// f(i) for i in [0, n), each in a thread; f is a lambda of the device, not written within a generic
// lambda (nvcc does not take it there).
template <class F>
void each(cudaStream_t stream, int64_t n, F f) {
  if (n <= 0) return;
  each_kernel<<<grid(n, kEachThreads), kEachThreads, 0, stream>>>(n, f);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
