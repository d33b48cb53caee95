#include "argosy/kernels/cuda/interp.h"

#include <algorithm>
#include <cmath>

#include "argosy/kernels/cuda/geometry.cuh"

// Every mode is separable. Tables on the device say for each output of a dimension which inputs it
// is the sum of and by which weights; all dimensions are done at once.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// Output k of a dimension is the sum of weight[k * taps + t] times input index[k * taps + t].
struct Axis {
  int in, out, taps;
  float ratio;
  bool half, corners, antialias;
  int* index;
  float* weight;
  int *begin, *end;  // the outputs that each input is part of
};
struct Axes {
  Axis of[3];
  InterpMode mode;
};

__device__ float cubic_near(float t) {
  constexpr float a = -0.75f;
  return ((a + 2) * t - (a + 3)) * t * t + 1;
}
__device__ float cubic_far(float t) {
  constexpr float a = -0.75f;
  return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}
__device__ float triangle(float t) {
  return fmaxf(0.0f, 1 - fabsf(t));
}
__device__ float cubic_half(float t) {
  constexpr float a = -0.5f;
  t = fabsf(t);
  if (t >= 2) return 0;
  return t < 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : (((t - 5) * t + 8) * t - 4) * a;
}

__device__ void antialias_taps(const Axis& axis, bool cubic, int k, int* index, float* weight) {
  const float stretch = fmaxf(1.0f, axis.ratio), support = (cubic ? 2.0f : 1.0f) * stretch;
  const float centre = __fmul_rn(axis.ratio, static_cast<float>(k) + 0.5f);
  const int first = max(0, static_cast<int>(__fadd_rn(__fsub_rn(centre, support), 0.5f)));
  const int end = min(axis.in, static_cast<int>(__fadd_rn(__fadd_rn(centre, support), 0.5f)));
  float sum = 0;
  for (int t = 0; t < axis.taps; ++t) {
    const int at = first + t;
    float w = 0;
    if (at < end) {
      const float distance = (static_cast<float>(at) - centre + 0.5f) / stretch;
      w = cubic ? cubic_half(distance) : triangle(distance);
    }
    index[t] = min(at, axis.in - 1);
    weight[t] = w;
    sum += w;
  }
  if (sum != 0)
    for (int t = 0; t < axis.taps; ++t) weight[t] /= sum;
}

// One thread for each output of a dimension (blockIdx.y). Roundings are those of separate
// operations: a position that is rounded otherwise may be between other elements.
__global__ void taps_kernel(Axes axes) {
  const Axis& axis = axes.of[blockIdx.y];
  const InterpMode mode = axes.mode;
  const int last = axis.in - 1;
  for (int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); k < axis.out;
       k += static_cast<int>(gridDim.x * blockDim.x)) {
    int* index = axis.index + int64_t{k} * axis.taps;
    float* weight = axis.weight + int64_t{k} * axis.taps;
    if (axis.antialias) {
      antialias_taps(axis, mode == InterpMode::cubic, k, index, weight);
      continue;
    }
    if (axis.taps == 1 && mode != InterpMode::nearest) {  // a dimension that is not there
      index[0] = 0;
      weight[0] = 1;
      continue;
    }
    const float position = static_cast<float>(k);
    float source = axis.half ? __fsub_rn(__fmul_rn(axis.ratio, position + 0.5f), 0.5f)
                             : __fmul_rn(axis.ratio, position);
    if (mode == InterpMode::nearest) {
      const int at = static_cast<int>(axis.corners ? __fadd_rn(source, 0.5f) : source);
      index[0] = min(max(at, 0), last);
      weight[0] = 1;
    } else if (mode == InterpMode::linear) {
      source = fmaxf(source, 0.0f);
      const int at = min(static_cast<int>(source), last);
      const float part = source - static_cast<float>(at);
      index[0] = at;
      index[1] = min(at + 1, last);
      weight[0] = 1 - part;
      weight[1] = part;
    } else {
      const float floor = floorf(source), t = source - floor;
      const int at = static_cast<int>(floor);
      for (int i = 0; i < 4; ++i) index[i] = min(max(at - 1 + i, 0), last);
      weight[0] = cubic_far(t + 1);
      weight[1] = cubic_near(t);
      weight[2] = cubic_near(1 - t);
      weight[3] = cubic_far(2 - t);
    }
  }
}

// The first k of [0, n) that is true; `test` is false, then true.
template <class F>
__device__ int first_true(int n, F test) {
  int low = 0;
  while (low < n) {
    const int middle = (low + n) / 2;
    if (test(middle))
      n = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Indices of later outputs are not lower, so the outputs of an input are one range.
__global__ void outputs_kernel(Axes axes) {
  const Axis& axis = axes.of[blockIdx.y];
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < axis.in;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    axis.begin[i] = first_true(
        axis.out, [&](int k) { return axis.index[int64_t{k} * axis.taps + axis.taps - 1] >= i; });
    axis.end[i] =
        first_true(axis.out, [&](int k) { return axis.index[int64_t{k} * axis.taps] > i; });
  }
}

// The tables of a call, in memory that lives until it is enqueued.
class Tables {
 public:
  Tables(cudaStream_t stream, InterpMode mode, const InterpShape& s, bool backward)
      : memory_(stream, layout(mode, s, backward)) {
    int* at = memory_.data<int>();
    int most_out = 1, most_in = 1;
    for (int d = 0; d < 3; ++d) {
      Axis& axis = axes_.of[d];
      const int64_t entries = int64_t{axis.out} * axis.taps;
      axis.index = at;
      axis.weight = reinterpret_cast<float*>(at + entries);
      at += 2 * entries;
      axis.begin = at;
      axis.end = at + axis.in;
      if (backward) at += 2 * int64_t{axis.in};
      most_out = std::max(most_out, axis.out);
      most_in = std::max(most_in, axis.in);
    }
    axes_.mode = mode;
    taps_kernel<<<dim3((most_out + 127) / 128, 3), 128, 0, stream>>>(axes_);
    ARGOSY_CUDA_LAUNCHED();
    if (!backward) return;
    outputs_kernel<<<dim3((most_in + 127) / 128, 3), 128, 0, stream>>>(axes_);
    ARGOSY_CUDA_LAUNCHED();
  }
  const Axes& axes() const { return axes_; }

 private:
  // Sets what the axes are but addresses; bytes of the tables.
  size_t layout(InterpMode mode, const InterpShape& s, bool backward) {
    int64_t words = 0;
    for (int d = 0; d < 3; ++d) {
      Axis& axis = axes_.of[d];
      axis.in = static_cast<int>(s.in[d]);
      axis.out = static_cast<int>(s.out[d]);
      axis.corners = s.align_corners;
      axis.antialias = s.antialias && mode != InterpMode::nearest;
      axis.half = !s.align_corners &&
                  (mode == InterpMode::cubic || (mode == InterpMode::linear && s.half_pixel));
      const float in = static_cast<float>(s.in[d]), out = static_cast<float>(s.out[d]);
      axis.ratio = 0;
      if (s.out[d] > 1)
        axis.ratio = s.align_corners  ? (in - 1) / (out - 1)
                     : s.scale[d] > 0 ? 1 / static_cast<float>(s.scale[d])
                                      : in / out;
      axis.taps = mode == InterpMode::nearest ? 1 : mode == InterpMode::linear ? 2 : 4;
      if (axis.antialias) {
        const float support =
            (mode == InterpMode::cubic ? 2.0f : 1.0f) * std::max(1.0f, axis.ratio);
        axis.taps = 2 * static_cast<int>(std::ceil(support)) + 1;
      }
      if (!used(s, d)) {
        axis.taps = 1;
        axis.ratio = 0;
        axis.half = axis.corners = axis.antialias = false;
      }
      words += 2 * int64_t{axis.out} * axis.taps + (backward ? 2 * int64_t{axis.in} : 0);
    }
    return static_cast<size_t>(words) * sizeof(int);
  }
  // A dimension that is not there has one tap, the first element, of weight 1.
  static bool used(const InterpShape& s, int d) { return s.in[d] != 1 || s.out[d] != 1; }

  Axes axes_;
  Scratch memory_;
};

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Axes axes, const Lattice<I> out, const Lattice<I> in, I total,
                   const T* __restrict__ x, T* __restrict__ y) {
  using C = Computed<T>;
  const Axis &az = axes.of[0], &ar = axes.of[1], &aq = axes.of[2];
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = out.place(i);
    C whole = 0;
    for (int tz = 0; tz < az.taps; ++tz) {
      const I kz = p.z * az.taps + tz;
      C plane = 0;
      for (int tr = 0; tr < ar.taps; ++tr) {
        const I kr = p.r * ar.taps + tr;
        const T* row = x + in.offset(p.part, az.index[kz], ar.index[kr], 0, p.lane);
        C sum = 0;
        for (int tq = 0; tq < aq.taps; ++tq) {
          const I kq = p.q * aq.taps + tq;
          sum += static_cast<C>(aq.weight[kq]) * load(row[aq.index[kq] * in.lanes]);
        }
        plane += static_cast<C>(ar.weight[kr]) * sum;
      }
      whole += static_cast<C>(az.weight[kz]) * plane;
    }
    y[i] = store<T>(whole);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    nearest_kernel(Axes axes, const Lattice<I> out, const Lattice<I> in, I total,
                   const T* __restrict__ x, T* __restrict__ y) {
  const Axis &az = axes.of[0], &ar = axes.of[1], &aq = axes.of[2];
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = out.place(i);
    y[i] = x[in.offset(p.part, az.index[p.z], ar.index[p.r], aq.index[p.q], p.lane)];
  }
}

// What output k of a dimension has of input i.
template <class I>
__device__ __forceinline__ float share(const Axis& axis, int k, I i) {
  float sum = 0;
  for (int t = 0; t < axis.taps; ++t) {
    const int64_t at = int64_t{k} * axis.taps + t;
    if (axis.index[at] == i) sum += axis.weight[at];
  }
  return sum;
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(Axes axes, const Lattice<I> out, const Lattice<I> in, I total,
                    const T* __restrict__ dy, T* __restrict__ dx) {
  using C = Computed<T>;
  const Axis &az = axes.of[0], &ar = axes.of[1], &aq = axes.of[2];
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = in.place(i);
    C whole = 0;
    for (int kz = az.begin[p.z]; kz < az.end[p.z]; ++kz) {
      C plane = 0;
      for (int kr = ar.begin[p.r]; kr < ar.end[p.r]; ++kr) {
        const T* row = dy + out.offset(p.part, kz, kr, 0, p.lane);
        C sum = 0;
        for (int kq = aq.begin[p.q]; kq < aq.end[p.q]; ++kq)
          sum += static_cast<C>(share(aq, kq, p.q)) * load(row[kq * out.lanes]);
        plane += static_cast<C>(share(ar, kr, p.r)) * sum;
      }
      whole += static_cast<C>(share(az, kz, p.z)) * plane;
    }
    dx[i] = store<T>(whole);
  }
}

// f(index type, places of outputs, places of inputs).
template <class F>
void with_places(const InterpShape& s, F&& f) {
  with_index_of(std::max(s.x_size(), s.y_size()), [&]<class I>(Type<I> type) {
    f(type, Lattice<I>(s.out, s.lanes), Lattice<I>(s.in, s.lanes));
  });
}

bool is_copy(const InterpShape& s) {
  return s.in[0] == s.out[0] && s.in[1] == s.out[1] && s.in[2] == s.out[2];
}

void copy(cudaStream_t stream, DType dtype, int64_t n, const void* from, void* to) {
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(n * item_size(dtype)),
                              cudaMemcpyDeviceToDevice, stream));
}

}  // namespace

void interp(cudaStream_t stream, DType dtype, InterpMode mode, const InterpShape& s, const void* x,
            void* y) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  if (is_copy(s)) return copy(stream, dtype, total, x, y);
  const Tables tables(stream, mode, s, false);
  with_places(s, [&]<class I>(Type<I>, const Lattice<I>& out, const Lattice<I>& in) {
    const auto n = static_cast<I>(total);
    const int blocks = grid(total, kThreads, 16);
    if (mode == InterpMode::nearest) {
      with_width(item_size(dtype), [&]<class T>(Type<T>) {
        nearest_kernel<T, I><<<blocks, kThreads, 0, stream>>>(
            tables.axes(), out, in, n, static_cast<const T*>(x), static_cast<T*>(y));
        ARGOSY_CUDA_LAUNCHED();
      });
      return;
    }
    with_floating("interpolate", dtype, [&]<class T>(Type<T>) {
      forward_kernel<T, I><<<blocks, kThreads, 0, stream>>>(
          tables.axes(), out, in, n, static_cast<const T*>(x), static_cast<T*>(y));
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

void interp_backward(cudaStream_t stream, DType dtype, InterpMode mode, const InterpShape& s,
                     const void* dy, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  if (is_copy(s)) return copy(stream, dtype, total, dy, dx);
  const Tables tables(stream, mode, s, true);
  with_places(s, [&]<class I>(Type<I>, const Lattice<I>& out, const Lattice<I>& in) {
    with_floating("interpolate_grad", dtype, [&]<class T>(Type<T>) {
      backward_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          tables.axes(), out, in, static_cast<I>(total), static_cast<const T*>(dy),
          static_cast<T*>(dx));
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

}  // namespace argosy::cuda
