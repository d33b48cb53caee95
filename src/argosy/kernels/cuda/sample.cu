#include "argosy/kernels/cuda/sample.h"

#include <algorithm>

#include "argosy/kernels/cuda/exact.cuh"
#include "argosy/kernels/cuda/places.cuh"
#include "argosy/kernels/cuda/rounding.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// The elements of one plane that a point is made of.
template <class C, int dims>
class Sampler {
 public:
  __device__ Sampler(const SampleShape& s, const C* point) : s_(s) {
    for (int d = 0; d < dims; ++d) {
      const C p = place(point[dims - 1 - d], s.size[d], &rate_[d]);
      // What lies further out, or is not a number, meets no element.
      const bool near = p > C(-2) && p < static_cast<C>(s.size[d] + 1);
      const C low = near ? (s.nearest ? rint(p) : floor(p)) : C(-2);
      first_[d] = static_cast<int64_t>(low);
      part_[d] = near ? p - low : C(0);
    }
  }

  __device__ int taps() const { return s_.nearest ? 1 : 1 << dims; }
  // Where tap t lies in its plane; false: outside.
  __device__ bool has(int t, int64_t* index) const {
    int64_t at = 0;
    bool inside = true;
    for (int d = 0; d < dims; ++d) {
      const int64_t k = first_[d] + (t >> d & 1);
      inside = inside && k >= 0 && k < s_.size[d];
      at = at * s_.size[d] + k;
    }
    *index = at;
    return inside;
  }
  // What tap t counts when differentiated by these coordinates, once each; with none this is its
  // weight.
  __device__ C factor(int t, uint32_t coordinates) const {
    if (s_.nearest) return coordinates ? C(0) : C(1);
    C product = 1;
    for (int d = 0; d < dims; ++d) {
      const bool upper = t >> d & 1;
      product *= coordinates >> (dims - 1 - d) & 1 ? (upper ? rate_[d] : -rate_[d])
                                                   : (upper ? part_[d] : 1 - part_[d]);
    }
    return product;
  }

 private:
  // From [-1, 1] to elements of an axis; rate: how fast it changes.
  __device__ C place(C g, int64_t n, C* rate) const {
    const C size = static_cast<C>(n), last = size - 1;
    C p = s_.align_corners ? times((g + 1) / 2, last) : (times(g + 1, size) - 1) / 2;
    *rate = (s_.align_corners ? last : size) / 2;
    if (s_.pixels) {
      p = g;
      *rate = 1;
    }
    if (s_.reflect) {
      // Mirrors at the centres or at the outer edges of the first and last element.
      const C low = s_.align_corners ? C(0) : C(-0.5), span = s_.align_corners ? last : size;
      if (span <= 0) {
        *rate = 0;
        return 0;
      }
      C q = p - low;
      if (q < 0) {
        q = -q;
        *rate = -*rate;
      }
      q -= times(times(floor(q / (2 * span)), C(2)), span);
      if (q > span) {
        q = 2 * span - q;
        *rate = -*rate;
      }
      p = q + low;
    }
    if (s_.border || s_.reflect) {
      if (p > 0 && p < last) return p;
      if (p != 0 && p != last) *rate = 0;
      return p >= last ? last : C(0);
    }
    return p;
  }

  const SampleShape& s_;
  int64_t first_[dims];
  C part_[dims], rate_[dims];
};

// The point of a thread, of image n.
template <class T, int dims>
__device__ Sampler<Computed<T>, dims> sampler_at(const SampleShape& s, const T* grid_at, int64_t n,
                                                 int64_t point) {
  Computed<T> at[dims];
  for (int d = 0; d < dims; ++d) at[d] = load(grid_at[(n * s.points + point) * dims + d]);
  return Sampler<Computed<T>, dims>(s, at);
}

// A thread for a point and `each` channels of it.
struct Work {
  int64_t each, groups, total;
};
Work work_of(const SampleShape& s) {
  // Finding the taps is shared by channels as long as there are threads enough.
  const int64_t points = std::max<int64_t>(s.batch * s.points, 1), wanted = int64_t{1} << 19;
  Work w;
  w.each = std::clamp<int64_t>(points * s.channels / wanted, 1, 16);
  w.groups = (s.channels + w.each - 1) / w.each;
  w.total = s.batch * w.groups * s.points;
  return w;
}

template <class T, int dims>
__global__ void __launch_bounds__(kThreads)
    sample_kernel(SampleShape s, Work w, const T* __restrict__ x, const T* __restrict__ grid_at,
                  T* __restrict__ y) {
  using C = Computed<T>;
  int64_t plane = 1;
  for (int d = 0; d < dims; ++d) plane *= s.size[d];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < w.total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t point, group;
    const int64_t n = divide(divide(i, s.points, point), w.groups, group);
    const auto sampler = sampler_at<T, dims>(s, grid_at, n, point);
    const int64_t last = min(s.channels, (group + 1) * w.each);
    for (int64_t c = group * w.each; c < last; ++c) {
      const T* from = x + (n * s.channels + c) * plane;
      C sum = 0;
      for (int t = 0; t < sampler.taps(); ++t) {
        int64_t index;
        if (sampler.has(t, &index)) sum += sampler.factor(t, s.coordinates) * load(from[index]);
      }
      y[(n * s.channels + c) * s.points + point] = store<T>(sum);
    }
  }
}

// The most that a tap's factor may be: a rate is at most a size.
double steepest(const SampleShape& s) {
  double most = 1;
  for (int d = 0; d < s.dims; ++d)
    if (!s.pixels && s.coordinates >> d & 1)
      most *= static_cast<double>(std::max({s.size[0], s.size[1], s.size[2], int64_t{1}}));
  return most;
}

template <class T, int dims>
__global__ void __launch_bounds__(kThreads)
    spread_kernel(SampleShape s, Work w, const T* __restrict__ grid_at, const T* __restrict__ dy,
                  Sums<Computed<T>> sums) {
  int64_t plane = 1;
  for (int d = 0; d < dims; ++d) plane *= s.size[d];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < w.total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t point, group;
    const int64_t n = divide(divide(i, s.points, point), w.groups, group);
    const auto sampler = sampler_at<T, dims>(s, grid_at, n, point);
    const int64_t last = min(s.channels, (group + 1) * w.each);
    for (int64_t c = group * w.each; c < last; ++c) {
      const Computed<T> g = load(dy[(n * s.channels + c) * s.points + point]);
      const int64_t to = (n * s.channels + c) * plane;
      for (int t = 0; t < sampler.taps(); ++t) {
        int64_t index;
        if (sampler.has(t, &index)) sums.add(to + index, g * sampler.factor(t, s.coordinates));
      }
    }
  }
}

// A warp for each point, its lanes over the channels.
template <class T, int dims>
__global__ void __launch_bounds__(kThreads)
    grid_gradient_kernel(SampleShape s, const T* __restrict__ x, const T* __restrict__ grid_at,
                         const T* __restrict__ dy, T* __restrict__ dgrid) {
  using C = Computed<T>;
  constexpr int kWarps = kThreads / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int64_t plane = 1;
  for (int d = 0; d < dims; ++d) plane *= s.size[d];
  const int64_t total = s.batch * s.points;
  for (int64_t i = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp; i < total;
       i += int64_t{gridDim.x} * kWarps) {
    int64_t point;
    const int64_t n = divide(i, s.points, point);
    const auto sampler = sampler_at<T, dims>(s, grid_at, n, point);
    C sums[dims] = {};
    for (int64_t c = lane; c < s.channels; c += kWarp) {
      const T* from = x + (n * s.channels + c) * plane;
      const C g = load(dy[(n * s.channels + c) * s.points + point]);
      for (int t = 0; t < sampler.taps(); ++t) {
        int64_t index;
        if (!sampler.has(t, &index)) continue;
        const C v = g * load(from[index]);
        for (int d = 0; d < dims; ++d) sums[d] += v * sampler.factor(t, 1u << d);
      }
    }
    for (int d = 0; d < dims; ++d) {
      const C sum = warp_reduce(sums[d], Sum{});
      if (lane == 0) dgrid[i * dims + d] = store<T>(sum);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    base_kernel(int dims, Places sizes, bool corners, int64_t total, T* __restrict__ out) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = sizes.element(i);
    T* to = out + i * (dims + 1);
    for (int d = 0; d < dims; ++d) {
      // x, the last axis, comes first.
      const T k = static_cast<T>(e.at[2 - d]), size = static_cast<T>(sizes.size[2 - d]);
      to[d] = corners ? (size > 1 ? 2 * k / (size - 1) - 1 : T(-1)) : (2 * k + 1) / size - 1;
    }
    to[dims] = 1;
  }
}

// f(type, dimensions as a constant).
template <class F>
void with_dims(const char* what, DType dtype, int dims, F&& f) {
  with_floating(what, dtype, [&]<class T>(Type<T> type) {
    if (dims == 3)
      f(type, std::integral_constant<int, 3>{});
    else
      f(type, std::integral_constant<int, 2>{});
  });
}

}  // namespace

void sample(cudaStream_t stream, DType dtype, const SampleShape& s, const void* x,
            const void* grid_at, void* y) {
  const Work w = work_of(s);
  if (w.total == 0) return;
  with_dims("grid_sample", dtype, s.dims,
            [&]<class T, int dims>(Type<T>, std::integral_constant<int, dims>) {
              sample_kernel<T, dims><<<grid(w.total, kThreads, 16), kThreads, 0, stream>>>(
                  s, w, static_cast<const T*>(x), static_cast<const T*>(grid_at),
                  static_cast<T*>(y));
              ARGOSY_CUDA_LAUNCHED();
            });
}

void sample_spread(cudaStream_t stream, DType dtype, const SampleShape& s, const void* grid_at,
                   const void* dy, void* dx) {
  if (s.x_size() == 0) return;
  const Work w = work_of(s);
  with_dims("grid_sample_grad", dtype, s.dims,
            [&]<class T, int dims>(Type<T>, std::integral_constant<int, dims>) {
              const Addends<T> addends{static_cast<const T*>(dy), s.y_size(),
                                       std::max<int64_t>(s.points << dims, 1), steepest(s)};
              with_sums<T>(stream, s.x_size(), dx, addends, [&](const Sums<Computed<T>>& sums) {
                if (w.total == 0) return;
                spread_kernel<T, dims><<<grid(w.total, kThreads, 16), kThreads, 0, stream>>>(
                    s, w, static_cast<const T*>(grid_at), static_cast<const T*>(dy), sums);
                ARGOSY_CUDA_LAUNCHED();
              });
            });
}

void sample_grid_gradient(cudaStream_t stream, DType dtype, const SampleShape& s, const void* x,
                          const void* grid_at, const void* dy, void* dgrid) {
  const int64_t total = s.batch * s.points;
  if (total == 0) return;
  with_dims("grid_sample_grad", dtype, s.dims,
            [&]<class T, int dims>(Type<T>, std::integral_constant<int, dims>) {
              grid_gradient_kernel<T, dims>
                  <<<grid(total, kThreads / kWarp, 16), kThreads, 0, stream>>>(
                      s, static_cast<const T*>(x), static_cast<const T*>(grid_at),
                      static_cast<const T*>(dy), static_cast<T*>(dgrid));
              ARGOSY_CUDA_LAUNCHED();
            });
}

void affine_base(cudaStream_t stream, DType dtype, int dims, const int64_t* sizes,
                 bool align_corners, void* out) {
  Places all{false, 1, {1, 1, 1}};
  int64_t total = 1;
  for (int d = 0; d < dims; ++d) {
    all.size[3 - dims + d] = sizes[d];
    total *= sizes[d];
  }
  if (total == 0) return;
  const auto launch = [&]<class T>(Type<T>) {
    base_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(dims, all, align_corners, total,
                                                                   static_cast<T*>(out));
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::float32)
    launch(Type<float>{});
  else if (dtype == DType::float64)
    launch(Type<double>{});
  else
    fail_dtype("affine_grid", dtype);
}

}  // namespace argosy::cuda
