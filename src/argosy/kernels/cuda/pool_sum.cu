#include "argosy/kernels/cuda/common.cuh"
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
  template <class C>
  __device__ __forceinline__ C result(const PoolShape& s, const Element& e, C sum) const {
    const int64_t count = by.fixed ? 1
                                   : counted(s, by, 0, e.at[0]) * counted(s, by, 1, e.at[1]) *
                                         counted(s, by, 2, e.at[2]);
    return sum / divisor<C>(by, count);
  }
};
struct Powers {
  double p;
  template <class C>
  __device__ __forceinline__ C element(C v) const {
    return power(v, C(p));
  }
  template <class C>
  __device__ __forceinline__ C result(const PoolShape&, const Element&, C sum) const {
    return p == 2 ? sqrt(sum) : power(sum, C(1 / p));
  }
};

template <class T, class F>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(PoolShape s, F f, int64_t total, const T* __restrict__ x, T* __restrict__ y) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const Span depth = window(s, 0, e.at[0]), rows = window(s, 1, e.at[1]),
               columns = window(s, 2, e.at[2]);
    C sum = 0;
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        const T* from = x + in.offset(e.n, e.c, z, r, columns.begin);
        for (int64_t k = 0; k < columns.size(); ++k) sum += f.element(load(from[k * s.lanes]));
      }
    y[i] = store<T>(f.result(s, e, sum));
  }
}

// A warp for each window, for large windows of planes.
template <class T, class F>
__global__ void __launch_bounds__(kThreads)
    sum_by_warps_kernel(PoolShape s, F f, int64_t total, const T* __restrict__ x,
                        T* __restrict__ y) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int kWarps = kThreads / kWarp;
  for (int64_t i = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp; i < total;
       i += int64_t{gridDim.x} * kWarps) {
    const Element e = out.element(i);
    const Span depth = window(s, 0, e.at[0]), rows = window(s, 1, e.at[1]),
               columns = window(s, 2, e.at[2]);
    const int64_t high = rows.size(), wide = columns.size();
    C sum = 0;
    for (int64_t k = lane; k < depth.size() * high * wide; k += kWarp) {
      int64_t q, r;
      const int64_t z = divide(divide(k, wide, q), high, r);
      const int64_t at = in.offset(e.n, e.c, depth.begin + z, rows.begin + r, columns.begin + q);
      sum += f.element(load(x[at]));
    }
    sum = warp_reduce(sum, Sum{});
    if (lane == 0) y[i] = store<T>(f.result(s, e, sum));
  }
}

template <class T, class F>
void launch_sum(cudaStream_t stream, const PoolShape& s, F f, const void* x, void* y) {
  const int64_t total = s.y_size();
  const int64_t places = s.out[0] * s.out[1] * s.out[2];
  const int64_t taps =
      s.adaptive ? s.in[0] * s.in[1] * s.in[2] / places : s.kernel[0] * s.kernel[1] * s.kernel[2];
  if (s.lanes == 1 && taps >= 32)
    sum_by_warps_kernel<T, F><<<grid(total, kThreads / kWarp, 16), kThreads, 0, stream>>>(
        s, f, total, static_cast<const T*>(x), static_cast<T*>(y));
  else
    sum_kernel<T, F><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, f, total, static_cast<const T*>(x), static_cast<T*>(y));
  ARGOSY_CUDA_LAUNCHED();
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    average_backward_kernel(PoolShape s, PoolDivisor by, int64_t total, const T* __restrict__ dy,
                            T* __restrict__ dx) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = in.element(i);
    const Span depth = windows_of(s, 0, e.at[0]), rows = windows_of(s, 1, e.at[1]),
               columns = windows_of(s, 2, e.at[2]);
    C sum = 0;
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        const int64_t outer = by.fixed ? 1 : counted(s, by, 0, z) * counted(s, by, 1, r);
        for (int64_t q = columns.begin; q < columns.end; ++q) {
          const int64_t count = by.fixed ? 1 : outer * counted(s, by, 2, q);
          const C scale = 1 / divisor<C>(by, count);
          sum += load(dy[out.offset(e.n, e.c, z, r, q)]) * scale;
        }
      }
    dx[i] = store<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    powers_backward_kernel(PoolShape s, double p, int64_t total, const T* __restrict__ x,
                           const T* __restrict__ y, const T* __restrict__ dy, T* __restrict__ dx) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = in.element(i);
    const Span depth = windows_of(s, 0, e.at[0]), rows = windows_of(s, 1, e.at[1]),
               columns = windows_of(s, 2, e.at[2]);
    C sum = 0;
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r)
        for (int64_t q = columns.begin; q < columns.end; ++q) {
          const int64_t at = out.offset(e.n, e.c, z, r, q);
          const C v = load(y[at]);
          if (v != C(0)) sum += load(dy[at]) * power(v, C(1 - p));
        }
    dx[i] = store<T>(sum * (p == 1 ? C(1) : power(load(x[i]), C(p - 1))));
  }
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
  with_floating("avg_pool_grad", dtype, [&]<class T>(Type<T>) {
    average_backward_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, divisor, total, static_cast<const T*>(dy), static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
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
  with_floating("lp_pool_grad", dtype, [&]<class T>(Type<T>) {
    powers_backward_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, p, total, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dy),
        static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
