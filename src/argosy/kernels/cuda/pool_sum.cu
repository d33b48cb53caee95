#include "argosy/kernels/cuda/pool_windows.cuh"

// Pools that add up: averages and powers.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class C>
__device__ __forceinline__ C power(C x, C p) {
  return p == C(2) ? x * x : p == C(1) ? x : pow(x, p);
}

// What is done to elements before they are added, and to the sum.
struct Average {
  PoolDivisor by;
  template <class C>
  __device__ __forceinline__ C element(C v) const {
    return v;
  }
  template <class C, class I>
  __device__ __forceinline__ C result(const Windows<I>& s, const PlaceOf<I>& p, C sum) const {
    const I count =
        by.fixed ? 1 : s.counted(by, 0, p.z) * s.counted(by, 1, p.r) * s.counted(by, 2, p.q);
    return sum / divisor<C>(by, count);
  }
};
struct Powers {
  double p;
  template <class C>
  __device__ __forceinline__ C element(C v) const {
    return power(v, C(p));
  }
  template <class C, class I>
  __device__ __forceinline__ C result(const Windows<I>&, const PlaceOf<I>&, C sum) const {
    return p == 2 ? sqrt(sum) : power(sum, C(1 / p));
  }
};

template <class T, class F, class I>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(const Windows<I> s, F f, I total, const T* __restrict__ x, T* __restrict__ y) {
  using C = Computed<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = s.out.place(i);
    const Span<I> depth = s.window(0, p.z), rows = s.window(1, p.r), columns = s.window(2, p.q);
    C sum = 0;
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r) {
        const T* from = x + s.in.offset(p.part, z, r, columns.begin, p.lane);
        for (I k = 0; k < columns.size(); ++k) sum += f.element(load(from[k * s.in.lanes]));
      }
    y[i] = store<T>(f.result(s, p, sum));
  }
}

// A warp for each window, for large windows of planes.
template <class T, class F, class I>
__global__ void __launch_bounds__(kThreads)
    sum_by_warps_kernel(const Windows<I> s, F f, I total, const T* __restrict__ x,
                        T* __restrict__ y) {
  using C = Computed<T>;
  const I lane = static_cast<I>(threadIdx.x) % kWarp;
  constexpr I kWarps = kThreads / kWarp;
  for (I i = static_cast<I>(blockIdx.x) * kWarps + static_cast<I>(threadIdx.x) / kWarp; i < total;
       i += static_cast<I>(gridDim.x) * kWarps) {
    const PlaceOf<I> p = s.out.place(i);
    const Span<I> depth = s.window(0, p.z), rows = s.window(1, p.r), columns = s.window(2, p.q);
    const I wide = columns.size();
    // Whole rows lie one after the other.
    const bool joined = wide == s.in.size[2];
    const I high = joined ? 1 : rows.size(), run = joined ? wide * rows.size() : wide;
    C sum = 0;
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = 0; r < high; ++r) {
        const T* from = x + s.in.offset(p.part, z, rows.begin + r, columns.begin, 0);
        for (I k = lane; k < run; k += kWarp) sum += f.element(load(from[k]));
      }
    sum = warp_reduce(sum, Sum{});
    if (lane == 0) y[i] = store<T>(f.result(s, p, sum));
  }
}

template <class T, class F>
void launch_sum(cudaStream_t stream, const PoolShape& s, F f, const void* x, void* y) {
  const int64_t total = s.y_size();
  const int64_t places = s.out[0] * s.out[1] * s.out[2];
  const int64_t taps =
      s.adaptive ? s.in[0] * s.in[1] * s.in[2] / places : s.kernel[0] * s.kernel[1] * s.kernel[2];
  with_index_of(most_of(s), [&]<class I>(Type<I>) {
    const Windows<I> windows(s);
    const auto* from = static_cast<const T*>(x);
    if (s.lanes == 1 && taps >= 32)
      sum_by_warps_kernel<T, F, I><<<grid(total, kThreads / kWarp, 16), kThreads, 0, stream>>>(
          windows, f, static_cast<I>(total), from, static_cast<T*>(y));
    else
      sum_kernel<T, F, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          windows, f, static_cast<I>(total), from, static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    average_backward_kernel(const Windows<I> s, PoolDivisor by, I total, const T* __restrict__ dy,
                            T* __restrict__ dx) {
  using C = Computed<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = s.in.place(i);
    const Span<I> depth = s.windows_of(0, p.z), rows = s.windows_of(1, p.r),
                  columns = s.windows_of(2, p.q);
    C sum = 0;
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r) {
        const I outer = by.fixed ? 1 : s.counted(by, 0, z) * s.counted(by, 1, r);
        for (I q = columns.begin; q < columns.end; ++q) {
          const I count = by.fixed ? 1 : outer * s.counted(by, 2, q);
          const C scale = 1 / divisor<C>(by, count);
          sum += load(dy[s.out.offset(p.part, z, r, q, p.lane)]) * scale;
        }
      }
    dx[i] = store<T>(sum);
  }
}

// Of windows that are all of the image: one number for each of its planes.
bool is_global(const PoolShape& s) {
  bool all = true;
  for (int d = 0; d < 3; ++d)
    all = all && s.out[d] == 1 && (s.adaptive || (s.kernel[d] == s.in[d] && s.pad[d] == 0));
  return all;
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    spread_kernel(Splitter<I> by_lanes, Splitter<I> by_places, I lanes, Computed<T> scale, I total,
                  const T* __restrict__ dy, T* __restrict__ dx) {
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    I lane, place;
    const I part = by_places(by_lanes(i, lane), place);
    dx[i] = store<T>(load(dy[part * lanes + lane]) * scale);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    powers_backward_kernel(const Windows<I> s, double p, I total, const T* __restrict__ x,
                           const T* __restrict__ y, const T* __restrict__ dy, T* __restrict__ dx) {
  using C = Computed<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> e = s.in.place(i);
    const Span<I> depth = s.windows_of(0, e.z), rows = s.windows_of(1, e.r),
                  columns = s.windows_of(2, e.q);
    C sum = 0;
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r)
        for (I q = columns.begin; q < columns.end; ++q) {
          const I at = s.out.offset(e.part, z, r, q, e.lane);
          const C v = load(y[at]);
          if (v != C(0)) sum += load(dy[at]) * power(v, C(1 - p));
        }
    dx[i] = store<T>(sum * (p == 1 ? C(1) : power(load(x[i]), C(p - 1))));
  }
}

void clear(cudaStream_t stream, DType dtype, int64_t n, void* to) {
  ARGOSY_CUDA(cudaMemsetAsync(to, 0, static_cast<size_t>(n * item_size(dtype)), stream));
}

}  // namespace

void avg_pool(cudaStream_t stream, DType dtype, const PoolShape& s, PoolDivisor divisor,
              const void* x, void* y) {
  if (s.y_size() == 0) return;
  with_floating("avg_pool", dtype,
                [&]<class T>(Type<T>) { launch_sum<T>(stream, s, Average{divisor}, x, y); });
}

void avg_pool_backward(cudaStream_t stream, DType dtype, const PoolShape& s, PoolDivisor divisor,
                       const void* dy, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  if (s.y_size() == 0) return clear(stream, dtype, total, dx);
  with_floating("avg_pool_grad", dtype, [&]<class T>(Type<T>) {
    with_index_of(most_of(s), [&]<class I>(Type<I>) {
      if (is_global(s)) {
        using C = Computed<T>;
        const int64_t places = s.in[0] * s.in[1] * s.in[2];
        const auto count = static_cast<C>(divisor.fixed ? divisor.fixed : places);
        spread_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
            Splitter<I>(s.lanes), Splitter<I>(places), static_cast<I>(s.lanes), 1 / count,
            static_cast<I>(total), static_cast<const T*>(dy), static_cast<T*>(dx));
        ARGOSY_CUDA_LAUNCHED();
        return;
      }
      average_backward_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          Windows<I>(s), divisor, static_cast<I>(total), static_cast<const T*>(dy),
          static_cast<T*>(dx));
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

void lp_pool(cudaStream_t stream, DType dtype, const PoolShape& s, double p, const void* x,
             void* y) {
  if (s.y_size() == 0) return;
  with_floating("lp_pool", dtype,
                [&]<class T>(Type<T>) { launch_sum<T>(stream, s, Powers{p}, x, y); });
}

void lp_pool_backward(cudaStream_t stream, DType dtype, const PoolShape& s, double p, const void* x,
                      const void* y, const void* dy, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  if (s.y_size() == 0) return clear(stream, dtype, total, dx);
  with_floating("lp_pool_grad", dtype, [&]<class T>(Type<T>) {
    with_index_of(most_of(s), [&]<class I>(Type<I>) {
      powers_backward_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          Windows<I>(s), p, static_cast<I>(total), static_cast<const T*>(x),
          static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx));
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

}  // namespace argosy::cuda
