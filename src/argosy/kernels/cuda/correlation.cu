#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/correlation.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ bool within(int64_t at, int64_t size) {
  return 0 <= at && at < size;
}

template <class T>
__global__ void volume_kernel(Correlation c, const T* x, const T* y, T* out) {
  const int64_t side = 2 * c.reach + 1, plane = c.height * c.width;
  const int64_t n = c.images * side * side * c.out_height * c.out_width;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
    int64_t rest = at;
    const int64_t column = rest % c.out_width * c.stride1 + c.start;
    rest /= c.out_width;
    const int64_t row = rest % c.out_height * c.stride1 + c.start;
    rest /= c.out_height;
    const int64_t across = (rest % side - c.reach) * c.stride2;
    rest /= side;
    const int64_t down = (rest % side - c.reach) * c.stride2, image = rest / side;
    const T *a = x + image * c.channels * plane, *b = y + image * c.channels * plane;
    T sum = 0;
    for (int64_t i = row; i < row + c.kernel; ++i) {
      if (!within(i, c.height) || !within(i + down, c.height)) continue;
      for (int64_t j = column; j < column + c.kernel; ++j) {
        if (!within(j, c.width) || !within(j + across, c.width)) continue;
        const int64_t here = i * c.width + j, there = here + down * c.width + across;
        for (int64_t k = 0; k < c.channels; ++k) sum += a[k * plane + here] * b[k * plane + there];
      }
    }
    out[at] = sum * static_cast<T>(c.factor);
  }
}

// Of element (h, w) of one image's plane: the sum, over the windows that take it and all shifts, of
// dout times the element that it is multiplied with, which `sign` says which way to find.
template <class T>
__device__ T back(const Correlation& c, int64_t h, int64_t w, const T* other, const T* dout,
                  int sign) {
  const int64_t side = 2 * c.reach + 1, windows = c.out_height * c.out_width;
  T sum = 0;
  for (int64_t shift = 0; shift < side * side; ++shift, dout += windows) {
    const int64_t down = (shift / side - c.reach) * c.stride2,
                  across = (shift % side - c.reach) * c.stride2;
    const int64_t other_h = h + sign * down, other_w = w + sign * across;
    if (!within(other_h, c.height) || !within(other_w, c.width)) continue;
    // Windows are counted where x is.
    const int64_t row = (sign > 0 ? h : other_h) - c.start,
                  column = (sign > 0 ? w : other_w) - c.start;
    T weight = 0;
    for (int64_t i = 0; i < c.kernel; ++i) {
      const int64_t r = row - i;
      if (r < 0 || r % c.stride1 != 0 || r / c.stride1 >= c.out_height) continue;
      for (int64_t j = 0; j < c.kernel; ++j) {
        const int64_t k = column - j;
        if (k < 0 || k % c.stride1 != 0 || k / c.stride1 >= c.out_width) continue;
        weight += dout[r / c.stride1 * c.out_width + k / c.stride1];
      }
    }
    sum += weight * other[other_h * c.width + other_w];
  }
  return sum * static_cast<T>(c.factor);
}

template <class T>
__global__ void back_kernel(Correlation c, const T* x, const T* y, const T* dout, T* dx, T* dy) {
  const int64_t plane = c.height * c.width, n = c.images * c.channels * plane;
  const int64_t side = 2 * c.reach + 1, volume = side * side * c.out_height * c.out_width;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
    const int64_t w = at % c.width, h = at / c.width % c.height, first = at / plane * plane;
    const T* own = dout + at / plane / c.channels * volume;
    dx[at] = back(c, h, w, y + first, own, 1);
    dy[at] = back(c, h, w, x + first, own, -1);
  }
}

template <class F>
void with_wide(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(float());
  else
    f(double());
}

}  // namespace

void correlation(cudaStream_t stream, const Correlation& c, const void* x, const void* y,
                 void* out) {
  const int64_t side = 2 * c.reach + 1, n = c.images * side * side * c.out_height * c.out_width;
  if (n == 0) return;
  with_wide(c.dtype, [&]<class T>(T) {
    volume_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(
        c, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void correlation_grad(cudaStream_t stream, const Correlation& c, const void* x, const void* y,
                      const void* dout, void* dx, void* dy) {
  const int64_t n = c.images * c.channels * c.height * c.width;
  if (n == 0) return;
  with_wide(c.dtype, [&]<class T>(T) {
    back_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(
        c, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dout),
        static_cast<T*>(dx), static_cast<T*>(dy));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
