#include "argosy/kernels/cuda/each.cuh"
#include "argosy/kernels/cuda/norm_more.h"

namespace argosy::cuda {
namespace {

template <class T>
void sum_windows(cudaStream_t stream, const T* x, int64_t outer, int64_t n, int64_t inner,
                 int64_t before, int64_t after, T* y) {
  each(stream, outer * n * inner, [=] __device__(int64_t i) {
    const int64_t line = i / inner, c = line % n;
    const int64_t first = c < before ? 0 : c - before, last = c + after < n ? c + after : n - 1;
    const T* column = x + i - c * inner;
    Computed<T> sum = 0;
    for (int64_t k = first; k <= last; ++k) sum += load(column[k * inner]);
    y[i] = store<T>(sum);
  });
}

// One block. Element (i, k) of W, k = o * inner + j, is x[(o * n + i) * inner + j].
template <class T>
__global__ void __launch_bounds__(1024)
    iterate(const T* x, int64_t outer, int64_t n, int64_t inner, int64_t steps, double epsilon,
            double* u, double* v) {
  __shared__ double shared[kWarp];
  const int64_t columns = outer * inner;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  auto at = [=](int64_t i, int64_t k) {
    const int64_t o = k / inner;
    return static_cast<double>(load(x[(o * n + i) * inner + (k - o * inner)]));
  };
  auto scale_to_one = [&](double* p, int64_t count) {
    double squares = 0;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) squares += p[i] * p[i];
    const double norm = sqrt(block_reduce(squares, 0.0, Sum(), shared)) + epsilon;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) p[i] /= norm;
    __syncthreads();
  };
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t k = threadIdx.x; k < columns; k += blockDim.x) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += at(i, k) * u[i];
      v[k] = sum;
    }
    __syncthreads();
    scale_to_one(v, columns);
    for (int64_t i = threadIdx.x / kWarp; i < n; i += blockDim.x / kWarp) {
      double sum = 0;
      for (int64_t k = lane; k < columns; k += kWarp) sum += at(i, k) * v[k];
      sum = warp_reduce(sum, Sum());
      if (lane == 0) u[i] = sum;
    }
    __syncthreads();
    scale_to_one(u, n);
  }
}

}  // namespace

void window_sum(cudaStream_t stream, DType dtype, const void* x, int64_t outer, int64_t n,
                int64_t inner, int64_t before, int64_t after, void* y) {
  with_floating("channel_window_sum", dtype, [&]<class T>(Type<T>) {
    sum_windows<T>(stream, static_cast<const T*>(x), outer, n, inner, before, after,
                   static_cast<T*>(y));
  });
}

void power_iteration(cudaStream_t stream, DType dtype, const void* x, int64_t outer, int64_t n,
                     int64_t inner, int64_t steps, double epsilon, double* u, double* v) {
  with_floating("power_iteration", dtype, [&]<class T>(Type<T>) {
    iterate<T>
        <<<1, 1024, 0, stream>>>(static_cast<const T*>(x), outer, n, inner, steps, epsilon, u, v);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
