#include "argosy/kernels/cuda/roi.h"

#include <algorithm>

#include "argosy/kernels/cuda/bounds.cuh"
#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/exact.cuh"
#include "argosy/kernels/cuda/places.cuh"
#include "argosy/kernels/cuda/rounding.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// Four pixels and their weights.
template <class T>
struct Sample {
  int64_t at[4] = {};
  T weight[4] = {};
};

// At (y, x); coordinates up to one pixel outside count as the border.
template <class T>
__device__ Sample<T> sample_at(T y, T x, int64_t height, int64_t width) {
  Sample<T> s;
  if (y < -1 || y > static_cast<T>(height) || x < -1 || x > static_cast<T>(width)) return s;
  y = y > T(0) ? y : T(0);
  x = x > T(0) ? x : T(0);
  int64_t low_y = static_cast<int64_t>(y), low_x = static_cast<int64_t>(x);
  int64_t high_y = low_y + 1, high_x = low_x + 1;
  if (low_y >= height - 1) {
    low_y = high_y = height - 1;
    y = static_cast<T>(low_y);
  }
  if (low_x >= width - 1) {
    low_x = high_x = width - 1;
    x = static_cast<T>(low_x);
  }
  const T down = y - static_cast<T>(low_y), right = x - static_cast<T>(low_x);
  const T up = 1 - down, left = 1 - right;
  s.at[0] = low_y * width + low_x;
  s.at[1] = low_y * width + high_x;
  s.at[2] = high_y * width + low_x;
  s.at[3] = high_y * width + high_x;
  s.weight[0] = up * left;
  s.weight[1] = up * right;
  s.weight[2] = down * left;
  s.weight[3] = down * right;
  return s;
}

// The cells of one region, for roi_align.
template <class T>
struct Cells {
  T top, left, height, width;
  int64_t rows, columns;  // samples in a cell
  __device__ Cells(const T* box, const RoiShape& s, int64_t sampling_ratio, bool aligned) {
    const T scale = static_cast<T>(s.scale), shift = aligned ? T(0.5) : T(0);
    left = times(box[0], scale) - shift;
    top = times(box[1], scale) - shift;
    T w = times(box[2], scale) - shift - left, h = times(box[3], scale) - shift - top;
    if (!aligned) {
      w = w > T(1) ? w : T(1);
      h = h > T(1) ? h : T(1);
    }
    height = h / static_cast<T>(s.pooled_height);
    width = w / static_cast<T>(s.pooled_width);
    rows = sampling_ratio > 0 ? sampling_ratio : static_cast<int64_t>(ceil(height));
    columns = sampling_ratio > 0 ? sampling_ratio : static_cast<int64_t>(ceil(width));
  }
  __device__ T count() const { return rows * columns > 1 ? static_cast<T>(rows * columns) : T(1); }
  // visit(sample) for each sample of cell (i, j).
  template <class Visit>
  __device__ void each(int64_t i, int64_t j, const RoiShape& s, Visit visit) const {
    for (int64_t a = 0; a < rows; ++a) {
      const T y = top + times(static_cast<T>(i), height) +
                  times(static_cast<T>(a) + T(0.5), height) / static_cast<T>(rows);
      for (int64_t b = 0; b < columns; ++b) {
        const T x = left + times(static_cast<T>(j), width) +
                    times(static_cast<T>(b) + T(0.5), width) / static_cast<T>(columns);
        visit(sample_at(y, x, s.height, s.width));
      }
    }
  }
};

// Bounds of a cell of a region in whole pixels.
struct Bounds {
  int64_t y0, y1, x0, x1;
  __device__ bool empty() const { return y1 <= y0 || x1 <= x0; }
};

__device__ __forceinline__ int64_t clamped(int64_t v, int64_t most) {
  return v < 0 ? 0 : v > most ? most : v;
}

template <class T>
__device__ Bounds pool_bounds(const T* box, int64_t i, int64_t j, const RoiShape& s) {
  const T scale = static_cast<T>(s.scale);
  const auto rounded = [&](T v) { return static_cast<int64_t>(round(times(v, scale))); };
  const int64_t left = rounded(box[0]), top = rounded(box[1]);
  const int64_t w = max(rounded(box[2]) - left + 1, int64_t{1});
  const int64_t h = max(rounded(box[3]) - top + 1, int64_t{1});
  const T cell_h = static_cast<T>(h) / static_cast<T>(s.pooled_height);
  const T cell_w = static_cast<T>(w) / static_cast<T>(s.pooled_width);
  const auto bound = [](T v, int64_t start, int64_t size) {
    return clamped(static_cast<int64_t>(v) + start, size);
  };
  return {bound(floor(times(static_cast<T>(i), cell_h)), top, s.height),
          bound(ceil(times(static_cast<T>(i + 1), cell_h)), top, s.height),
          bound(floor(times(static_cast<T>(j), cell_w)), left, s.width),
          bound(ceil(times(static_cast<T>(j + 1), cell_w)), left, s.width)};
}

template <class T>
__device__ Bounds psroi_bounds(const T* box, int64_t i, int64_t j, const RoiShape& s) {
  const T scale = static_cast<T>(s.scale);
  const T left = times(round(box[0]), scale), top = times(round(box[1]), scale);
  const T right = times(round(box[2]) + 1, scale), bottom = times(round(box[3]) + 1, scale);
  const T high = bottom - top, wide = right - left;
  const T cell_h = (high > T(0.1) ? high : T(0.1)) / static_cast<T>(s.pooled_height);
  const T cell_w = (wide > T(0.1) ? wide : T(0.1)) / static_cast<T>(s.pooled_width);
  return {
      clamped(static_cast<int64_t>(floor(times(cell_h, static_cast<T>(i)) + top)), s.height),
      clamped(static_cast<int64_t>(ceil(times(cell_h, static_cast<T>(i + 1)) + top)), s.height),
      clamped(static_cast<int64_t>(floor(times(cell_w, static_cast<T>(j)) + left)), s.width),
      clamped(static_cast<int64_t>(ceil(times(cell_w, static_cast<T>(j + 1)) + left)), s.width)};
}

// Cell (i, j) of channel c of region r of a result with this many channels.
struct Cell {
  int64_t r, c, i, j;
  __device__ Cell(int64_t at, const RoiShape& s, int64_t channels) {
    int64_t rest = divide(at, s.pooled_width, j);
    rest = divide(rest, s.pooled_height, i);
    r = divide(rest, channels, c);
  }
};
__device__ __forceinline__ int64_t plane_at(const RoiShape& s, int64_t image, int64_t channel) {
  return (image * s.channels + channel) * s.height * s.width;
}

// The image of each region, of so many; -1 for one that is not there, which is told.
struct Images {
  const int64_t* of;
  int64_t count;
  Watch watch;
  __device__ __forceinline__ int64_t operator[](int64_t region) const {
    const int64_t image = of[region];
    if (image >= 0 && image < count) return image;
    tell(watch, image, count);
    return -1;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    align_kernel(RoiShape s, int64_t sampling_ratio, bool aligned, int64_t total,
                 const T* __restrict__ x, const T* __restrict__ boxes, Images image,
                 T* __restrict__ y) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, s.channels);
    const Cells<T> cells(boxes + 4 * cell.r, s, sampling_ratio, aligned);
    const int64_t own = image[cell.r];
    if (own < 0) {
      y[at] = 0;
      continue;
    }
    const T* from = x + plane_at(s, own, cell.c);
    T sum = 0;
    cells.each(cell.i, cell.j, s, [&](const Sample<T>& p) {
      sum += p.weight[0] * from[p.at[0]] + p.weight[1] * from[p.at[1]] +
             p.weight[2] * from[p.at[2]] + p.weight[3] * from[p.at[3]];
    });
    y[at] = sum / cells.count();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    align_grad_kernel(RoiShape s, int64_t sampling_ratio, bool aligned, int64_t total,
                      const T* __restrict__ dy, const T* __restrict__ boxes, Images image,
                      Sums<T> dx) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, s.channels);
    const Cells<T> cells(boxes + 4 * cell.r, s, sampling_ratio, aligned);
    const int64_t own = image[cell.r];
    if (own < 0) continue;
    const int64_t to = plane_at(s, own, cell.c);
    const T part = dy[at] / cells.count();
    cells.each(cell.i, cell.j, s, [&](const Sample<T>& p) {
      for (int k = 0; k < 4; ++k)
        if (p.weight[k] != T(0)) dx.add(to + p.at[k], part * p.weight[k]);
    });
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_kernel(RoiShape s, int64_t total, T lowest, const T* __restrict__ x,
               const T* __restrict__ boxes, Images image, T* __restrict__ y,
               int64_t* __restrict__ argmax) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, s.channels);
    const int64_t own = image[cell.r];
    if (own < 0) {
      y[at] = 0;
      argmax[at] = -1;
      continue;
    }
    const T* from = x + plane_at(s, own, cell.c);
    const Bounds b = pool_bounds(boxes + 4 * cell.r, cell.i, cell.j, s);
    T best = lowest;
    int64_t place = -1;
    for (int64_t h = b.y0; h < b.y1; ++h)
      for (int64_t w = b.x0; w < b.x1; ++w)
        if (from[h * s.width + w] > best) {
          best = from[h * s.width + w];
          place = h * s.width + w;
        }
    y[at] = b.empty() ? T(0) : best;
    argmax[at] = place;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_grad_kernel(RoiShape s, int64_t total, const T* __restrict__ dy,
                    const int64_t* __restrict__ argmax, Images image, Watch argmax_watch,
                    Sums<T> dx) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, s.channels);
    const int64_t own = image[cell.r], place = argmax[at];
    if (own < 0 || place < 0) continue;
    if (place < s.height * s.width)
      dx.add(plane_at(s, own, cell.c) + place, dy[at]);
    else
      tell(argmax_watch, place, s.height * s.width);
  }
}

// The channel that a cell takes its mean of.
__device__ __forceinline__ int64_t source_of(const Cell& cell, const RoiShape& s) {
  return (cell.c * s.pooled_height + cell.i) * s.pooled_width + cell.j;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    psroi_kernel(RoiShape s, int64_t channels, int64_t total, const T* __restrict__ x,
                 const T* __restrict__ boxes, Images image, T* __restrict__ y) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, channels);
    const int64_t own = image[cell.r];
    if (own < 0) {
      y[at] = 0;
      continue;
    }
    const T* from = x + plane_at(s, own, source_of(cell, s));
    const Bounds b = psroi_bounds(boxes + 4 * cell.r, cell.i, cell.j, s);
    T sum = 0;
    for (int64_t h = b.y0; h < b.y1; ++h)
      for (int64_t w = b.x0; w < b.x1; ++w) sum += from[h * s.width + w];
    y[at] = b.empty() ? T(0) : sum / static_cast<T>((b.y1 - b.y0) * (b.x1 - b.x0));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    psroi_grad_kernel(RoiShape s, int64_t channels, int64_t total, const T* __restrict__ dy,
                      const T* __restrict__ boxes, Images image, Sums<T> dx) {
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < total;
       at += int64_t{gridDim.x} * kThreads) {
    const Cell cell(at, s, channels);
    const Bounds b = psroi_bounds(boxes + 4 * cell.r, cell.i, cell.j, s);
    if (b.empty()) continue;
    const T part = dy[at] / static_cast<T>((b.y1 - b.y0) * (b.x1 - b.x0));
    const int64_t own = image[cell.r];
    if (own < 0) continue;
    const int64_t to = plane_at(s, own, source_of(cell, s));
    for (int64_t h = b.y0; h < b.y1; ++h)
      for (int64_t w = b.x0; w < b.x1; ++w) dx.add(to + h * s.width + w, part);
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

// Of dy, of `total` numbers, which are spread with weights that add up to 1.
template <class T, class Launch>
void spread(cudaStream_t stream, const RoiShape& s, const void* dy, int64_t total, void* dx,
            Launch&& launch) {
  if (s.x_size() == 0) return;
  const Addends<T> addends{static_cast<const T*>(dy), total, std::max<int64_t>(total, 1)};
  add_sums<T>(stream, s.x_size(), static_cast<T*>(dx), addends, [&](const Sums<T>& sums) {
    if (total == 0) return;
    launch(sums);
    ARGOSY_CUDA_LAUNCHED();
  });
}

int64_t psroi_channels(const RoiShape& s) {
  return s.channels / (s.pooled_height * s.pooled_width);
}

}  // namespace

void roi_align(cudaStream_t stream, DType dtype, const RoiShape& s, int64_t sampling_ratio,
               bool aligned, const void* x, const void* boxes, const RoiImages& image, void* y) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_wide("roi_align", dtype, [&]<class T>(Type<T>) {
    align_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        s, sampling_ratio, aligned, total, static_cast<const T*>(x), static_cast<const T*>(boxes),
        Images{image.of, s.images, image.watch}, static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void roi_align_grad(cudaStream_t stream, DType dtype, const RoiShape& s, int64_t sampling_ratio,
                    bool aligned, const void* dy, const void* boxes, const RoiImages& image,
                    void* dx) {
  const int64_t total = s.y_size();
  with_wide("roi_align_grad", dtype, [&]<class T>(Type<T>) {
    spread<T>(stream, s, dy, total, dx, [&](const Sums<T>& sums) {
      align_grad_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
          s, sampling_ratio, aligned, total, static_cast<const T*>(dy),
          static_cast<const T*>(boxes), Images{image.of, s.images, image.watch}, sums);
    });
  });
}

void roi_pool(cudaStream_t stream, DType dtype, const RoiShape& s, const void* x, const void* boxes,
              const RoiImages& image, void* y, int64_t* argmax) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_wide("roi_pool", dtype, [&]<class T>(Type<T>) {
    max_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        s, total, static_cast<T>(dtype == DType::float32 ? -FLT_MAX : -DBL_MAX),
        static_cast<const T*>(x), static_cast<const T*>(boxes),
        Images{image.of, s.images, image.watch}, static_cast<T*>(y), argmax);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void roi_pool_grad(cudaStream_t stream, DType dtype, const RoiShape& s, const void* dy,
                   const int64_t* argmax, const Watch& argmax_watch, const RoiImages& image,
                   void* dx) {
  const int64_t total = s.y_size();
  with_wide("roi_pool_grad", dtype, [&]<class T>(Type<T>) {
    spread<T>(stream, s, dy, total, dx, [&](const Sums<T>& sums) {
      max_grad_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
          s, total, static_cast<const T*>(dy), argmax, Images{image.of, s.images, image.watch},
          argmax_watch, sums);
    });
  });
}

void psroi_pool(cudaStream_t stream, DType dtype, const RoiShape& s, const void* x,
                const void* boxes, const RoiImages& image, void* y) {
  const int64_t channels = psroi_channels(s);
  const int64_t total = s.regions * channels * s.pooled_height * s.pooled_width;
  if (total == 0) return;
  with_wide("psroi_pool", dtype, [&]<class T>(Type<T>) {
    psroi_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        s, channels, total, static_cast<const T*>(x), static_cast<const T*>(boxes),
        Images{image.of, s.images, image.watch}, static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void psroi_pool_grad(cudaStream_t stream, DType dtype, const RoiShape& s, const void* dy,
                     const void* boxes, const RoiImages& image, void* dx) {
  const int64_t channels = psroi_channels(s);
  const int64_t total = s.regions * channels * s.pooled_height * s.pooled_width;
  with_wide("psroi_pool_grad", dtype, [&]<class T>(Type<T>) {
    spread<T>(stream, s, dy, total, dx, [&](const Sums<T>& sums) {
      psroi_grad_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
          s, channels, total, static_cast<const T*>(dy), static_cast<const T*>(boxes),
          Images{image.of, s.images, image.watch}, sums);
    });
  });
}

}  // namespace argosy::cuda
