#include "argosy/kernels/cuda/unfold.h"

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/places.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    unfold_kernel(UnfoldShape s, int64_t total, const T* __restrict__ image,
                  T* __restrict__ lines) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t column, row, kx, ky;
    int64_t plane = divide(i, s.columns, column);
    plane = divide(plane, s.rows, row);
    plane = divide(plane, s.kernel[1], kx);
    plane = divide(plane, s.kernel[0], ky);
    const int64_t y = row * s.stride[0] + ky * s.dilation[0] - s.pad[0];
    const int64_t x = column * s.stride[1] + kx * s.dilation[1] - s.pad[1];
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    lines[i] = inside ? image[(plane * s.height + y) * s.width + x] : T{};
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fold_kernel(UnfoldShape s, int64_t total, const T* __restrict__ lines, T* __restrict__ image) {
  using C = Computed<T>;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t x, y;
    const int64_t plane = divide(divide(i, s.width, x), s.height, y);
    C sum = 0;
    for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
      const int64_t ty = y + s.pad[0] - ky * s.dilation[0];
      if (ty < 0 || ty % s.stride[0] != 0 || ty / s.stride[0] >= s.rows) continue;
      for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
        const int64_t tx = x + s.pad[1] - kx * s.dilation[1];
        if (tx < 0 || tx % s.stride[1] != 0 || tx / s.stride[1] >= s.columns) continue;
        const int64_t line = (plane * s.kernel[0] + ky) * s.kernel[1] + kx;
        sum += load(lines[(line * s.rows + ty / s.stride[0]) * s.columns + tx / s.stride[1]]);
      }
    }
    image[i] = store<T>(sum);
  }
}

}  // namespace

void unfold(cudaStream_t stream, DType dtype, const UnfoldShape& s, const void* image,
            void* lines) {
  const int64_t total = s.lines_size();
  if (total == 0) return;
  with_width(item_size(dtype), [&]<class T>(Type<T>) {
    unfold_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, total, static_cast<const T*>(image), static_cast<T*>(lines));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void fold(cudaStream_t stream, DType dtype, const UnfoldShape& s, const void* lines, void* image) {
  const int64_t total = s.image_size();
  if (total == 0) return;
  const auto launch = [&]<class T>(Type<T>) {
    fold_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, total, static_cast<const T*>(lines), static_cast<T*>(image));
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::int32 || dtype == DType::int64)
    with_index("fold", dtype, launch);
  else
    with_floating("fold", dtype, launch);
}

}  // namespace argosy::cuda
