#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/fft.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void scale_kernel(Complex<T>* x, int64_t n, T factor) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const Complex<T> v = x[i];
    x[i] = {v.re * factor, v.im * factor};
  }
}

}  // namespace

void scale_complex(cudaStream_t stream, DType dtype, void* x, int64_t n, double factor) {
  if (n == 0) return;
  const int blocks = grid(n, kThreads);
  if (dtype == DType::complex64)
    scale_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<c64*>(x), n,
                                                  static_cast<float>(factor));
  else
    scale_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<c128*>(x), n, factor);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
