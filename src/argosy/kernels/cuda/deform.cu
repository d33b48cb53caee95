#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/exact.cuh"
#include "argosy/kernels/cuda/places.cuh"
#include "argosy/kernels/cuda/roi.h"

// The columns of deformable convolution.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// Where the kernel's element k of deformable group g looks for the output (row, column).
template <class T>
struct Place {
  T y, x;
  int64_t offset_y, offset_x, mask;  // elements of offset and mask
  __device__ Place(const T* offset, const DeformShape& s, int64_t n, int64_t g, int64_t k,
                   int64_t row, int64_t column) {
    const int64_t area = s.out_height * s.out_width, cell = row * s.out_width + column;
    const int64_t tap = (n * s.groups + g) * s.kernel_height * s.kernel_width + k;
    const int64_t i = k / s.kernel_width, j = k % s.kernel_width;
    offset_y = 2 * tap * area + cell;
    offset_x = offset_y + area;
    mask = tap * area + cell;
    y = static_cast<T>(row * s.stride[0] - s.padding[0] + i * s.dilation[0]) + offset[offset_y];
    x = static_cast<T>(column * s.stride[1] - s.padding[1] + j * s.dilation[1]) + offset[offset_x];
  }
  __device__ bool inside(const DeformShape& s) const {
    return y > -1 && x > -1 && y < static_cast<T>(s.height) && x < static_cast<T>(s.width);
  }
};

template <class T>
struct Corners {
  int64_t at[4];
  bool valid[4];
  T down, right;
  __device__ Corners(T y, T x, const DeformShape& s) {
    const T floor_y = floor(y), floor_x = floor(x);
    const int64_t low_y = static_cast<int64_t>(floor_y), low_x = static_cast<int64_t>(floor_x);
    down = y - floor_y;
    right = x - floor_x;
    for (int k = 0; k < 4; ++k) {
      const int64_t py = low_y + k / 2, px = low_x + k % 2;
      valid[k] = py >= 0 && px >= 0 && py < s.height && px < s.width;
      at[k] = py * s.width + px;
    }
  }
  __device__ T weight(int k) const {
    return (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right);
  }
  // Derivatives of the weight.
  __device__ T by_y(int k) const { return (k / 2 ? T(1) : T(-1)) * (k % 2 ? right : 1 - right); }
  __device__ T by_x(int k) const { return (k % 2 ? T(1) : T(-1)) * (k / 2 ? down : 1 - down); }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(DeformShape s, int64_t total, const T* __restrict__ x,
                   const T* __restrict__ offset, const T* __restrict__ mask,
                   T* __restrict__ columns) {
  const int64_t taps = s.kernel_height * s.kernel_width, share = s.channels / s.groups;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    int64_t column, row, k, c;
    int64_t rest = divide(at, s.out_width, column);
    rest = divide(rest, s.out_height, row);
    const int64_t plane = divide(rest, taps, k);
    const int64_t n = divide(plane, s.channels, c);
    const Place<T> p(offset, s, n, c / share, k, row, column);
    T value = 0;
    if (p.inside(s)) {
      const T* from = x + plane * s.height * s.width;
      const Corners<T> corners(p.y, p.x, s);
      for (int q = 0; q < 4; ++q)
        if (corners.valid[q]) value += corners.weight(q) * from[corners.at[q]];
    }
    columns[at] = mask ? value * mask[p.mask] : value;
  }
}

// A thread for each offset: the channels of a group share it.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(DeformShape s, int64_t total, const T* __restrict__ dcolumns,
                    const T* __restrict__ x, const T* __restrict__ offset,
                    const T* __restrict__ mask, Sums<T> dx, T* __restrict__ doffset,
                    T* __restrict__ dmask) {
  const int64_t taps = s.kernel_height * s.kernel_width, share = s.channels / s.groups;
  const int64_t area = s.out_height * s.out_width, size = s.height * s.width;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    int64_t column, row, k, g;
    int64_t rest = divide(at, s.out_width, column);
    rest = divide(rest, s.out_height, row);
    rest = divide(rest, taps, k);
    const int64_t n = divide(rest, s.groups, g);
    const Place<T> p(offset, s, n, g, k, row, column);
    T by_y = 0, by_x = 0, by_mask = 0;
    if (p.inside(s)) {
      const Corners<T> corners(p.y, p.x, s);
      const T factor = mask ? mask[p.mask] : T(1);
      for (int64_t c = g * share; c < (g + 1) * share; ++c) {
        const int64_t plane = n * s.channels + c;
        const T d = dcolumns[(plane * taps + k) * area + row * s.out_width + column];
        for (int q = 0; q < 4; ++q) {
          if (!corners.valid[q]) continue;
          const int64_t pixel = plane * size + corners.at[q];
          const T value = x[pixel];
          dx.add(pixel, d * factor * corners.weight(q));
          by_y += d * factor * value * corners.by_y(q);
          by_x += d * factor * value * corners.by_x(q);
          by_mask += d * value * corners.weight(q);
        }
      }
    }
    doffset[p.offset_y] = by_y;
    doffset[p.offset_x] = by_x;
    if (dmask) dmask[p.mask] = by_mask;
  }
}

template <class F>
void with_wide(const char* what, DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(Type<float>{});
  else if (dtype == DType::float64)
    f(Type<double>{});
  else
    fail_dtype(what, dtype);
}

}  // namespace

void deform_columns(cudaStream_t stream, DType dtype, const DeformShape& s, const void* x,
                    const void* offset, const void* mask, void* columns) {
  const int64_t total =
      s.images * s.channels * s.kernel_height * s.kernel_width * s.out_height * s.out_width;
  if (total == 0) return;
  with_wide("deform_columns", dtype, [&]<class T>(Type<T>) {
    columns_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, total, static_cast<const T*>(x), static_cast<const T*>(offset),
        static_cast<const T*>(mask), static_cast<T*>(columns));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void deform_columns_grad(cudaStream_t stream, DType dtype, const DeformShape& s,
                         const void* dcolumns, const void* x, const void* offset, const void* mask,
                         void* dx, void* doffset, void* dmask) {
  const int64_t pixels = s.images * s.channels * s.height * s.width;
  const int64_t taps = s.kernel_height * s.kernel_width * s.out_height * s.out_width;
  const int64_t total = s.images * s.groups * taps;
  with_wide("deform_columns_grad", dtype, [&]<class T>(Type<T>) {
    const Addends<T> addends{static_cast<const T*>(dcolumns), s.images * s.channels * taps,
                             std::max<int64_t>(4 * taps, 1),  1,
                             static_cast<const T*>(mask),     total};
    auto launch = [&](const Sums<T>& sums) {
      if (total == 0) return;
      gradient_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          s, total, static_cast<const T*>(dcolumns), static_cast<const T*>(x),
          static_cast<const T*>(offset), static_cast<const T*>(mask), sums,
          static_cast<T*>(doffset), static_cast<T*>(dmask));
      ARGOSY_CUDA_LAUNCHED();
    };
    if (pixels)
      add_sums<T>(stream, pixels, static_cast<T*>(dx), addends, launch);
    else
      launch({});  // no tap meets an element
  });
}

}  // namespace argosy::cuda
