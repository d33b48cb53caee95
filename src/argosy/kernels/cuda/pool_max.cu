#include "argosy/kernels/cuda/pool_windows.cuh"
#include "argosy/kernels/cuda/rounding.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class C>
__device__ __forceinline__ bool beats(C v, C best) {
  return v > best || v != v;
}

// Where a window of nothing but minus infinity has its maximum.
__device__ __forceinline__ int64_t first_place(const PoolShape& s, Span z, Span r, Span q) {
  const int64_t at = (z.begin * s.in[1] + r.begin) * s.in[2] + q.begin;
  const int64_t last = s.in[0] * s.in[1] * s.in[2] - 1;
  return at < last ? at : last;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_kernel(PoolShape s, int64_t total, const T* __restrict__ x, T* __restrict__ y,
               int32_t* __restrict__ indices) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const Span depth = window(s, 0, e.at[0]), rows = window(s, 1, e.at[1]),
               columns = window(s, 2, e.at[2]);
    C best = -INFINITY;
    int64_t place = first_place(s, depth, rows, columns);
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        const T* from = x + in.offset(e.n, e.c, z, r, columns.begin);
        const int64_t at = (z * s.in[1] + r) * s.in[2] + columns.begin;
        for (int64_t k = 0; k < columns.size(); ++k) {
          const C v = load(from[k * s.lanes]);
          if (beats(v, best)) {
            best = v;
            place = at + k;
          }
        }
      }
    if (y) y[i] = store<T>(best);
    if (indices) indices[i] = static_cast<int32_t>(place);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(PoolShape s, int64_t total, const T* __restrict__ dy,
                  const int32_t* __restrict__ indices, T* __restrict__ dx) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = in.element(i);
    const int32_t place = static_cast<int32_t>((e.at[0] * s.in[1] + e.at[1]) * s.in[2] + e.at[2]);
    const Span depth = windows_of(s, 0, e.at[0]), rows = windows_of(s, 1, e.at[1]),
               columns = windows_of(s, 2, e.at[2]);
    C sum = 0;
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r)
        for (int64_t q = columns.begin; q < columns.end; ++q) {
          const int64_t at = out.offset(e.n, e.c, z, r, q);
          if (indices[at] == place) sum += load(dy[at]);
        }
    dx[i] = store<T>(sum);
  }
}

// Into zeros of what is computed in.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(PoolShape s, int64_t total, const T* __restrict__ dy,
                   const int32_t* __restrict__ indices, Computed<T>* __restrict__ sums) {
  const Places out = outputs_of(s);
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const int64_t place = indices[i];
    if (place < 0 || place >= plane) continue;
    atomicAdd(sums + (e.n * plane + place) * s.lanes + e.c, load(dy[i]));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ranges_kernel(PoolShape s, int64_t total, const Span* __restrict__ ranges,
                  const T* __restrict__ x, T* __restrict__ y, int32_t* __restrict__ indices) {
  using C = Computed<T>;
  const Places out = outputs_of(s), in = inputs_of(s);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const Span depth = ranges[e.at[0]], rows = ranges[s.out[0] + e.at[1]],
               columns = ranges[s.out[0] + s.out[1] + e.at[2]];
    C best = 0;
    int64_t place = -1;
    for (int64_t z = depth.begin; z < depth.end; ++z)
      for (int64_t r = rows.begin; r < rows.end; ++r)
        for (int64_t q = columns.begin; q < columns.end; ++q) {
          const C v = load(x[in.offset(e.n, e.c, z, r, q)]);
          if (place < 0 || beats(v, best)) {
            best = v;
            place = (z * s.in[1] + r) * s.in[2] + q;
          }
        }
    y[i] = store<T>(best);
    indices[i] = static_cast<int32_t>(place);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    unpool_kernel(int64_t total, int64_t inside, int64_t room, const T* __restrict__ x,
                  const I* __restrict__ index, T* __restrict__ out) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads)
    out[i / inside * room + index[i]] = x[i];
}

}  // namespace

void max_pool(cudaStream_t stream, DType dtype, const PoolShape& s, const void* x, void* y,
              int32_t* indices) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_floating("max_pool", dtype, [&]<class T>(Type<T>) {
    max_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, total, static_cast<const T*>(x), static_cast<T*>(y), indices);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void max_pool_gather(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                     const int32_t* indices, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  with_floating("max_pool_grad", dtype, [&]<class T>(Type<T>) {
    gather_kernel<T><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
        s, total, static_cast<const T*>(dy), indices, static_cast<T*>(dx));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void max_pool_scatter(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                      const int32_t* indices, void* dx) {
  const int64_t total = s.x_size(), outputs = s.y_size();
  if (total == 0) return;
  with_floating("max_pool_grad", dtype, [&]<class T>(Type<T>) {
    with_sums<T>(stream, total, dx, [&](Computed<T>* sums) {
      if (outputs == 0) return;
      scatter_kernel<T><<<grid(outputs, kThreads), kThreads, 0, stream>>>(
          s, outputs, static_cast<const T*>(dy), indices, sums);
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

void ranges_pool(cudaStream_t stream, DType dtype, const PoolShape& s, const int64_t* ranges,
                 const void* x, void* y, int32_t* indices) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_floating("fractional_max_pool", dtype, [&]<class T>(Type<T>) {
    ranges_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        s, total, reinterpret_cast<const Span*>(ranges), static_cast<const T*>(x),
        static_cast<T*>(y), indices);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void unpool(cudaStream_t stream, DType dtype, DType index_dtype, int64_t planes, int64_t inside,
            int64_t room, const void* x, const void* index, void* out) {
  const int64_t total = planes * inside;
  if (total == 0) return;
  with_width(item_size(dtype), [&]<class T>(Type<T>) {
    if constexpr (sizeof(T) <= 8)
      with_index("max_unpool", index_dtype, [&]<class I>(Type<I>) {
        unpool_kernel<T, I><<<grid(total, kThreads), kThreads, 0, stream>>>(
            total, inside, room, static_cast<const T*>(x), static_cast<const I*>(index),
            static_cast<T*>(out));
        ARGOSY_CUDA_LAUNCHED();
      });
  });
}

}  // namespace argosy::cuda
