#include "argosy/kernels/cuda/checks.h"

#include "argosy/base/device.h"
#include "argosy/kernels/cuda/common.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class I>
__global__ void __launch_bounds__(kThreads)
    outside_kernel(int64_t n, const I* __restrict__ values, int64_t low, int64_t high,
                   unsigned long long* first) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * kThreads)
    if (values[i] < low || values[i] >= high) atomicMin(first, static_cast<unsigned long long>(i));
}

template <class T>
T read(cudaStream_t stream, const T* from) {
  T value;
  const device::HostWait wait;
  ARGOSY_CUDA(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, stream));
  ARGOSY_CUDA(cudaStreamSynchronize(stream));
  return value;
}

}  // namespace

std::optional<int64_t> first_outside(cudaStream_t stream, DType dtype, const void* values,
                                     int64_t n, int64_t low, int64_t high) {
  if (n == 0) return std::nullopt;
  const Scratch first(stream, sizeof(unsigned long long));
  ARGOSY_CUDA(cudaMemsetAsync(first.data(), 0xff, sizeof(unsigned long long), stream));
  return with_index("index", dtype, [&]<class I>(Type<I>) -> std::optional<int64_t> {
    outside_kernel<I><<<grid(n, kThreads), kThreads, 0, stream>>>(
        n, static_cast<const I*>(values), low, high, first.data<unsigned long long>());
    ARGOSY_CUDA_LAUNCHED();
    const unsigned long long at = read(stream, first.data<unsigned long long>());
    if (at == ~0ull) return std::nullopt;
    return static_cast<int64_t>(read(stream, static_cast<const I*>(values) + at));
  });
}

}  // namespace argosy::cuda
