#include "argosy/kernels/cuda/pooling.h"

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

__device__ __forceinline__ int64_t begin_of(const Ragged& r, int64_t b) {
  if (!r.starts) return b * r.each;
  return r.starts[b] < r.count ? r.starts[b] : r.count;
}
// The sequence of row i, whose begin is not behind it.
__device__ __forceinline__ int64_t owner_of(const Ragged& r, int64_t i) {
  if (!r.starts) return r.each ? i / r.each : 0;
  int64_t low = 0, high = r.samples;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (r.starts[middle] <= i ? low : high) = middle;
  }
  return low;
}

template <class T>
__device__ __forceinline__ T element(const PoolTable& t, int64_t row, int64_t k) {
  if (t.ids) row = t.ids[row];
  if (row < 0 || row >= t.height || (t.ids && row == t.padding)) return store<T>(Computed<T>(0));
  return static_cast<const T*>(t.data)[row * t.dim + k];
}

template <class T>
struct PoolRow {
  T* target;
  int32_t* found;
  PoolColumns columns;
  PoolTable table;
  Ragged ragged;
  Pool pool;
  double pad;
  Splitter dim;
  __device__ void operator()(int64_t i) const {
    using W = Computed<T>;
    int64_t k;
    const int64_t b = dim.split(i, &k);
    const int64_t first = begin_of(ragged, b), n = begin_of(ragged, b + 1) - first;
    const int64_t at = b * columns.width + columns.column + k;
    int32_t where = n > 0 ? 0 : -1;
    T out;
    if (n <= 0) {
      out = store<T>(static_cast<W>(pad));
    } else if (n == 1 || pool == Pool::first || pool == Pool::last) {
      out = element<T>(table, first + (pool == Pool::last ? n - 1 : 0), k);
    } else if (pool == Pool::max) {
      out = element<T>(table, first, k);
      for (int64_t r = 1; r < n; ++r) {
        const T v = element<T>(table, first + r, k);
        if (load(v) > load(out)) {
          out = v;
          where = static_cast<int32_t>(r);
        }
      }
    } else {
      W sum = load(element<T>(table, first, k));
      for (int64_t r = 1; r < n; ++r) sum += load(element<T>(table, first + r, k));
      if (pool == Pool::average) sum /= static_cast<W>(n);
      if (pool == Pool::sqrt) sum /= ::sqrt(static_cast<W>(n));
      out = store<T>(sum);
    }
    target[at] = out;
    if (found) found[at] = where;
  }
};

template <class T>
struct PickRow {
  T* target;
  const int32_t* found;
  PoolColumns columns;
  PoolTable table;
  Ragged ragged;
  Splitter dim;
  __device__ void operator()(int64_t i) const {
    int64_t k;
    const int64_t b = dim.split(i, &k);
    const int64_t at = b * columns.width + columns.column + k;
    const int32_t row = found[at];
    const int64_t first = begin_of(ragged, b);
    const bool good = row >= 0 && row < begin_of(ragged, b + 1) - first;
    target[at] = good ? element<T>(table, first + row, k) : store<T>(Computed<T>(0));
  }
};

template <class T>
struct RowGradient {
  T* values;
  const T* dy;
  const int32_t* found;
  PoolColumns columns;
  Ragged ragged;
  Pool pool;
  Splitter dim;
  __device__ void operator()(int64_t i) const {
    using W = Computed<T>;
    int64_t k;
    const int64_t row = dim.split(i, &k);
    const int64_t b = owner_of(ragged, row);
    T out = store<T>(W(0));
    const int64_t first = begin_of(ragged, b), n = begin_of(ragged, b + 1) - first;
    const int64_t r = row - first, at = b * columns.width + columns.column + k;
    if (r < n) {
      const T g = dy[at];
      switch (pool) {
        case Pool::first:
          if (r == 0) out = g;
          break;
        case Pool::last:
          if (r == n - 1) out = g;
          break;
        case Pool::max:
          if (found[at] == r) out = g;
          break;
        case Pool::sum:
          out = g;
          break;
        case Pool::average:
          out = store<T>(static_cast<W>(load(g) / static_cast<W>(n)));
          break;
        case Pool::sqrt:
          out = store<T>(static_cast<W>(load(g) / ::sqrt(static_cast<W>(n))));
          break;
      }
    }
    values[i] = out;
  }
};

}  // namespace

void pool_rows(cudaStream_t stream, DType dtype, void* target, int32_t* found, PoolColumns columns,
               const PoolTable& table, const Ragged& ragged, Pool pool, double pad) {
  const int64_t n = ragged.samples * table.dim;
  with_floating("sequence_pool", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  PoolRow<T>{static_cast<T*>(target), found, columns, table, ragged, pool, pad,
                             Splitter(table.dim, n)});
  });
}

void pool_picked(cudaStream_t stream, DType dtype, void* target, const int32_t* found,
                 PoolColumns columns, const PoolTable& table, const Ragged& ragged) {
  const int64_t n = ragged.samples * table.dim;
  with_floating("sequence_pool", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(
        stream, n,
        PickRow<T>{static_cast<T*>(target), found, columns, table, ragged, Splitter(table.dim, n)});
  });
}

void pool_row_gradients(cudaStream_t stream, DType dtype, void* values, const void* dy,
                        const int32_t* found, PoolColumns columns, const Ragged& ragged,
                        int64_t dim, Pool pool) {
  const int64_t n = ragged.count * dim;
  if (ragged.samples == 0) {
    if (n)
      ARGOSY_CUDA(cudaMemsetAsync(values, 0, static_cast<size_t>(n) * item_size(dtype), stream));
    return;
  }
  with_floating("sequence_pool_grad", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n,
                  RowGradient<T>{static_cast<T*>(values), static_cast<const T*>(dy), found, columns,
                                 ragged, pool, Splitter(dim, n)});
  });
}

}  // namespace argosy::cuda
