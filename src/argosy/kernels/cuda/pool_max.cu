#include "argosy/kernels/cuda/bounds.cuh"
#include "argosy/kernels/cuda/exact.cuh"
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
template <class I>
__device__ __forceinline__ I first_place(const Windows<I>& s, Span<I> z, Span<I> r, Span<I> q) {
  const I at = (z.begin * s.in.size[1] + r.begin) * s.in.size[2] + q.begin;
  const I last = s.in.size[0] * s.in.size[1] * s.in.size[2] - 1;
  return at < last ? at : last;
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    max_kernel(const Windows<I> s, I total, const T* __restrict__ x, T* __restrict__ y,
               int32_t* __restrict__ indices) {
  using C = Computed<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = s.out.place(i);
    const Span<I> depth = s.window(0, p.z), rows = s.window(1, p.r), columns = s.window(2, p.q);
    C best = -INFINITY;
    I place = first_place(s, depth, rows, columns);
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r) {
        const T* from = x + s.in.offset(p.part, z, r, columns.begin, p.lane);
        const I at = (z * s.in.size[1] + r) * s.in.size[2] + columns.begin;
        for (I k = 0; k < columns.size(); ++k) {
          const C v = load(from[k * s.in.lanes]);
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

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const Windows<I> s, I total, const T* __restrict__ dy,
                  const int32_t* __restrict__ indices, T* __restrict__ dx) {
  using C = Computed<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < total;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = s.in.place(i);
    const auto place = static_cast<int32_t>((p.z * s.in.size[1] + p.r) * s.in.size[2] + p.q);
    const Span<I> depth = s.windows_of(0, p.z), rows = s.windows_of(1, p.r),
                  columns = s.windows_of(2, p.q);
    C sum = 0;
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r)
        for (I q = columns.begin; q < columns.end; ++q) {
          const I at = s.out.offset(p.part, z, r, q, p.lane);
          if (indices[at] == place) sum += load(dy[at]);
        }
    dx[i] = store<T>(sum);
  }
}

// A pack of neighbours in a row: what their windows share is looked at once. Of planes whose rows
// are whole packs. Sums are added in the same order.
template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    gather_packs(const Windows<I> s, I packs, const T* __restrict__ dy,
                 const int32_t* __restrict__ indices, T* __restrict__ dx) {
  using C = Computed<T>;
  constexpr int kItems = kPack<T>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < packs;
       i += static_cast<I>(gridDim.x) * kThreads) {
    const PlaceOf<I> p = s.in.place(i * kItems);
    const auto first = static_cast<int32_t>((p.z * s.in.size[1] + p.r) * s.in.size[2] + p.q);
    const Span<I> depth = s.windows_of(0, p.z), rows = s.windows_of(1, p.r);
    const Span<I> columns{s.windows_of(2, p.q).begin, s.windows_of(2, p.q + kItems - 1).end};
    C sums[kItems] = {};
    for (I z = depth.begin; z < depth.end; ++z)
      for (I r = rows.begin; r < rows.end; ++r) {
        const I at = s.out.offset(p.part, z, r, 0, 0);
        for (I q = columns.begin; q < columns.end; ++q) {
          const int32_t place = indices[at + q] - first;
          const C v = load(dy[at + q]);
#pragma unroll
          for (int k = 0; k < kItems; ++k) sums[k] += place == k ? v : C(0);
        }
      }
    Pack<T, kItems> out;
#pragma unroll
    for (int k = 0; k < kItems; ++k) out.at[k] = store<T>(sums[k]);
    reinterpret_cast<Pack<T, kItems>*>(dx)[i] = out;
  }
}

// Into zeros of what is computed in.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(PoolShape s, int64_t total, const T* __restrict__ dy,
                   const int32_t* __restrict__ indices, Sums<Computed<T>> sums) {
  const Places out{true, s.lanes, {s.out[0], s.out[1], s.out[2]}};
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const int64_t place = indices[i];
    if (place < 0 || place >= plane) continue;
    sums.add((e.n * plane + place) * s.lanes + e.c, load(dy[i]));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ranges_kernel(PoolShape s, int64_t total, const Span<int64_t>* __restrict__ ranges,
                  const T* __restrict__ x, T* __restrict__ y, int32_t* __restrict__ indices) {
  using C = Computed<T>;
  const Places out{true, s.lanes, {s.out[0], s.out[1], s.out[2]}};
  const Places in{true, s.lanes, {s.in[0], s.in[1], s.in[2]}};
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const Element e = out.element(i);
    const Span<int64_t> depth = ranges[e.at[0]], rows = ranges[s.out[0] + e.at[1]],
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
                  const I* __restrict__ index, T* __restrict__ out, Watch watch) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t at = index[i];
    if (at >= 0 && at < room)
      out[i / inside * room + at] = x[i];
    else
      tell(watch, at, room);
  }
}

}  // namespace

void max_pool(cudaStream_t stream, DType dtype, const PoolShape& s, const void* x, void* y,
              int32_t* indices) {
  const int64_t total = s.y_size();
  if (total == 0) return;
  with_floating("max_pool", dtype, [&]<class T>(Type<T>) {
    with_index_of(most_of(s), [&]<class I>(Type<I>) {
      max_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          Windows<I>(s), static_cast<I>(total), static_cast<const T*>(x), static_cast<T*>(y),
          indices);
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

void max_pool_gather(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                     const int32_t* indices, void* dx) {
  const int64_t total = s.x_size();
  if (total == 0) return;
  if (s.y_size() == 0) {
    ARGOSY_CUDA(cudaMemsetAsync(dx, 0, static_cast<size_t>(total * item_size(dtype)), stream));
    return;
  }
  with_floating("max_pool_grad", dtype, [&]<class T>(Type<T>) {
    with_index_of(most_of(s), [&]<class I>(Type<I>) {
      if constexpr (sizeof(T) < 8) {
        if (!s.adaptive && s.lanes == 1 && s.in[2] % kPack<T> == 0 && aligned(dx)) {
          const int64_t packs = total / kPack<T>;
          gather_packs<T, I><<<grid(packs, kThreads, 16), kThreads, 0, stream>>>(
              Windows<I>(s), static_cast<I>(packs), static_cast<const T*>(dy), indices,
              static_cast<T*>(dx));
          ARGOSY_CUDA_LAUNCHED();
          return;
        }
      }
      gather_kernel<T, I><<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
          Windows<I>(s), static_cast<I>(total), static_cast<const T*>(dy), indices,
          static_cast<T*>(dx));
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

void max_pool_scatter(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                      const int32_t* indices, void* dx) {
  const int64_t total = s.x_size(), outputs = s.y_size();
  if (total == 0) return;
  with_floating("max_pool_grad", dtype, [&]<class T>(Type<T>) {
    const int64_t count = s.out[0] * s.out[1] * s.out[2];
    const Addends<T> addends{static_cast<const T*>(dy), outputs, count};
    with_sums<T>(stream, total, dx, addends, [&](const Sums<Computed<T>>& sums) {
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
        s, total, reinterpret_cast<const Span<int64_t>*>(ranges), static_cast<const T*>(x),
        static_cast<T*>(y), indices);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void unpool(cudaStream_t stream, DType dtype, DType index_dtype, int64_t planes, int64_t inside,
            int64_t room, const void* x, const void* index, void* out, const Watch& watch) {
  const int64_t total = planes * inside;
  if (total == 0) return;
  with_width(item_size(dtype), [&]<class T>(Type<T>) {
    if constexpr (sizeof(T) <= 8)
      with_index("max_unpool", index_dtype, [&]<class I>(Type<I>) {
        unpool_kernel<T, I><<<grid(total, kThreads), kThreads, 0, stream>>>(
            total, inside, room, static_cast<const T*>(x), static_cast<const I*>(index),
            static_cast<T*>(out), watch);
        ARGOSY_CUDA_LAUNCHED();
      });
  });
}

}  // namespace argosy::cuda
