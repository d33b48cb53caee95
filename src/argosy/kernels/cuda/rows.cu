#include "argosy/kernels/cuda/rows.h"

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

struct RowPlace {
  Index rows;
  Splitter width;
  int64_t height, units, padding;
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    int64_t unit;
    const int64_t row = load_index(rows, width.split(i, &unit));
    if (row < 0 || row >= height) {
      tell(rows.watch, row, height);
      return kNowhere;
    }
    if (row == padding) return kNowhere;
    return row * units + unit;
  }
};

template <class T>
struct AddRow {
  T* target;
  const T* values;
  RowPlace place;
  __device__ void operator()(int64_t i) const {
    const int64_t at = place(i);
    if (at != kNowhere) add_at(target + at, values[i]);
  }
};

struct GiveKey {
  uint64_t* key;
  Index rows;
  uint64_t limit;
  int64_t padding;
  __device__ void operator()(int64_t i) const {
    const int64_t row = load_index(rows, i);
    const bool outside = row < 0 || static_cast<uint64_t>(row) >= limit;
    if (outside) tell(rows.watch, row, static_cast<int64_t>(limit));
    key[i] = outside || row == padding ? limit : static_cast<uint64_t>(row);
  }
};
struct NumberItem {
  uint32_t* item;
  __device__ void operator()(int64_t i) const { item[i] = static_cast<uint32_t>(i); }
};

// Sums of runs of equal keys. A thread takes kChunk neighbours and a pack of columns; what of a run
// goes on in other chunks waits in `parts`: [chunk, 2, width], first what came from the chunk
// before, then what goes on in the next.
constexpr int64_t kChunk = 32;

template <class T, int kWide>
struct Runs {
  using W = Computed<T>;
  using Many = Pack<T, kWide>;
  struct Sum {
    W at[kWide];
  };
  const uint64_t* keys;
  const uint32_t* items;
  int64_t n;
  uint64_t limit;
  T* target;
  const T* values;
  int64_t unit, width, step;
  bool by_count;
  Splitter packs;
  W* parts;

  __device__ __forceinline__ void add(Sum* sum, int64_t p, int64_t column) const {
    const Many v = *reinterpret_cast<const Many*>(
        values + (static_cast<int64_t>(items[p]) * width + column) * step);
#pragma unroll
    for (int k = 0; k < kWide; ++k) sum->at[k] = plus<W>(sum->at[k], load(v.at[k]));
  }
  __device__ __forceinline__ W* part(int64_t chunk, int which, int64_t column) const {
    return parts + (chunk * 2 + which) * width + column;
  }
  // The first place whose key is `key`, or above it.
  __device__ int64_t bound(uint64_t key) const {
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  __device__ __forceinline__ void finish(uint64_t key, Sum sum, int64_t column) const {
    if constexpr (std::is_floating_point_v<W>) {
      if (by_count) {
        const W factor = static_cast<W>(1 / static_cast<double>(bound(key + 1) - bound(key)));
#pragma unroll
        for (int k = 0; k < kWide; ++k) sum.at[k] *= factor;
      }
    }
    Many* at = reinterpret_cast<Many*>(target + static_cast<int64_t>(key) * unit + column);
    Many own = *at;
#pragma unroll
    for (int k = 0; k < kWide; ++k) own.at[k] = store<T>(plus<W>(load(own.at[k]), sum.at[k]));
    *at = own;
  }
};

template <class T, int kWide>
struct AddChunk {
  Runs<T, kWide> runs;
  __device__ void operator()(int64_t i) const {
    int64_t column;
    const int64_t chunk = runs.packs.split(i, &column);
    column *= kWide;
    const int64_t begin = chunk * kChunk, end = min(runs.n, begin + kChunk);
    for (int64_t p = begin; p < end;) {
      const uint64_t key = runs.keys[p];
      if (key >= runs.limit) return;  // and so are all behind it
      const bool starts = p > begin || begin == 0 || runs.keys[begin - 1] != key;
      typename Runs<T, kWide>::Sum sum{};
      for (; p < end && runs.keys[p] == key; ++p) runs.add(&sum, p, column);
      const bool ends = p < end || end == runs.n || runs.keys[end] != key;
      if (starts && ends) {
        runs.finish(key, sum, column);
        continue;
      }
      auto* part = runs.part(chunk, starts ? 1 : 0, column);
#pragma unroll
      for (int k = 0; k < kWide; ++k) part[k] = sum.at[k];
    }
  }
};

// Of the runs that go on, by the chunk in which each starts.
template <class T, int kWide>
struct JoinChunks {
  Runs<T, kWide> runs;
  __device__ void operator()(int64_t i) const {
    int64_t column;
    const int64_t chunk = runs.packs.split(i, &column);
    column *= kWide;
    const int64_t begin = chunk * kChunk, end = begin + kChunk;
    if (end >= runs.n) return;
    const uint64_t key = runs.keys[end];
    if (key >= runs.limit || runs.keys[end - 1] != key) return;
    if (runs.keys[begin] == key && begin > 0 && runs.keys[begin - 1] == key) return;
    typename Runs<T, kWide>::Sum sum{};
    auto add = [&](const typename Runs<T, kWide>::W* part) {
#pragma unroll
      for (int k = 0; k < kWide; ++k)
        sum.at[k] = plus<typename Runs<T, kWide>::W>(sum.at[k], part[k]);
    };
    add(runs.part(chunk, 1, column));
    for (int64_t next = chunk + 1; next * kChunk < runs.n && runs.keys[next * kChunk] == key;
         ++next)
      add(runs.part(next, 0, column));
    runs.finish(key, sum, column);
  }
};

template <class T, int kWide>
void add_runs(cudaStream_t stream, Runs<T, kWide> runs) {
  const int64_t packs = runs.width / kWide, chunks = (runs.n + kChunk - 1) / kChunk;
  runs.packs = Splitter(packs, chunks * packs);
  using W = Computed<T>;
  Scratch parts(stream, static_cast<size_t>(chunks * 2 * runs.width) * sizeof(W));
  runs.parts = parts.data<W>();
  for_each_item(stream, chunks * packs, AddChunk<T, kWide>{runs});
  if (chunks > 1) for_each_item(stream, chunks * packs, JoinChunks<T, kWide>{runs});
}

struct Norm {
  double p;
  __device__ double operator()(double sum, double v) const {
    v = v < 0 ? -v : v;
    if (isinf(p)) return v > sum || v != v ? v : sum;
    if (p == 2) return sum + v * v;
    if (p == 1) return sum + v;
    return sum + pow(v, p);
  }
};

// A block for each item; the block of a row's first item does it.
template <class T>
__global__ void __launch_bounds__(kThreads)
    renorm_row(const uint64_t* keys, int64_t n, uint64_t limit, T* table, int64_t width,
               int64_t row_stride, int64_t column_stride, double max_norm, double p) {
  __shared__ double shared[kWarp];
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const uint64_t key = keys[i];
    if (key >= limit || (i > 0 && keys[i - 1] == key)) continue;  // the whole block agrees
    T* row = table + static_cast<int64_t>(key) * row_stride;
    const Norm add{p};
    double norm = 0;
    for (int64_t k = threadIdx.x; k < width; k += kThreads)
      norm = add(norm, static_cast<double>(load(row[k * column_stride])));
    if (isinf(p))
      norm = block_reduce(norm, 0.0, Max(), shared);
    else
      norm = pow(block_reduce(norm, 0.0, Sum(), shared), 1 / p);
    if (norm <= max_norm) continue;
    const double factor = max_norm / (norm + 1e-7);
    for (int64_t k = threadIdx.x; k < width; k += kThreads)
      row[k * column_stride] = store<T>(
          static_cast<Computed<T>>(static_cast<double>(load(row[k * column_stride])) * factor));
  }
}

template <class T>
struct AddDense {
  T* target;
  const T* values;
  __device__ void operator()(int64_t i) const { target[i] = plus(target[i], values[i]); }
};

struct CountRow {
  int* counts;
  const int64_t* rows;
  __device__ void operator()(int64_t i) const { atomicAdd(counts + rows[i], 1); }
};
template <class T>
struct ScaleRow {
  T* values;
  const int* counts;
  const int64_t* rows;
  Splitter width;
  __device__ void operator()(int64_t i) const {
    int64_t column;
    const int n = counts[rows[width.split(i, &column)]];
    values[i] = store<T>(load(values[i]) * static_cast<Computed<T>>(1 / static_cast<double>(n)));
  }
};

}  // namespace

void embedding(cudaStream_t stream, void* target, const void* table, Index rows, int64_t n,
               int64_t height, int64_t width, int64_t padding, int item) {
  const int64_t bytes = width * item;
  const int wide =
      widest(bytes, reinterpret_cast<uintptr_t>(target), reinterpret_cast<uintptr_t>(table));
  const int64_t units = bytes / wide;
  const RowPlace place{rows, Splitter(units, n * units), height, units, padding};
  with_width(wide, [&](auto type) {
    gather_each<typename decltype(type)::type>(stream, target, table, n * units, place);
  });
}

RowOrder::RowOrder(cudaStream_t stream, int64_t n, uint64_t limit)
    : stream_(stream),
      n_(n),
      limit_(limit),
      given_(stream, static_cast<size_t>(n) * sizeof(uint64_t)),
      keys_(stream, static_cast<size_t>(n) * sizeof(uint64_t)),
      items_(stream, static_cast<size_t>(n) * sizeof(uint32_t)) {
  ARGOSY_CHECK(n < INT32_MAX, not_implemented)
      << "[RowOrder] sorts fewer than 2^31 items, got " << n << ". Do this: use smaller batches.";
}

void RowOrder::give(Index rows, int64_t padding) const {
  for_each_item(stream_, n_, GiveKey{given(), rows, limit_, padding});
}

void RowOrder::sort() {
  if (n_ == 0) return;
  Scratch numbers(stream_, static_cast<size_t>(n_) * sizeof(uint32_t));
  for_each_item(stream_, n_, NumberItem{numbers.data<uint32_t>()});
  const int bits = std::bit_width(limit_);
  size_t bytes = 0;
  auto run = [&](void* room) {
    ARGOSY_CUDA(cub::DeviceRadixSort::SortPairs(room, bytes, given(), keys_.data<uint64_t>(),
                                                numbers.data<uint32_t>(), items_.data<uint32_t>(),
                                                static_cast<int>(n_), 0, bits, stream_));
  };
  run(nullptr);
  Scratch room(stream_, bytes);
  run(room.data());
}

void RowOrder::add(DType dtype, void* target, int64_t unit, int64_t width, const void* values,
                   int64_t value_step, bool by_count) const {
  if (n_ == 0 || width == 0) return;
  with_addable("add_rows", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    auto all = [&](auto wide) {
      constexpr int kWide = decltype(wide)::value;
      add_runs<T, kWide>(stream_, {keys(),
                                   items(),
                                   n_,
                                   limit_,
                                   static_cast<T*>(target),
                                   static_cast<const T*>(values),
                                   unit,
                                   width,
                                   value_step,
                                   by_count,
                                   {}});
    };
    constexpr int kMany = sizeof(T) <= 4 && !std::is_integral_v<T> ? 16 / sizeof(T) : 1;
    if (kMany > 1 && width % kMany == 0 && unit % kMany == 0 && value_step == 1 &&
        aligned(target) && aligned(values))
      all(std::integral_constant<int, kMany>());
    else
      all(std::integral_constant<int, 1>());
  });
}

void add_rows(cudaStream_t stream, DType dtype, void* target, const void* values, Index rows,
              int64_t n, int64_t height, int64_t width, int64_t padding, bool by_count,
              bool ordered) {
  if (n == 0 || width == 0) return;
  if (ordered || by_count || (item_size(dtype) == 2)) {
    RowOrder order(stream, n, static_cast<uint64_t>(height));
    order.give(rows, padding);
    order.sort();
    return order.add(dtype, target, width, width, values, 1, by_count);
  }
  with_neighbours("add_rows", dtype, width, target, values, [&](auto type, int many) {
    using T = typename decltype(type)::type;
    const int64_t units = width / many, all = n * units;
    const RowPlace place{rows, Splitter(units, all), height, units, padding};
    for_each_item(stream, all,
                  AddRow<T>{static_cast<T*>(target), static_cast<const T*>(values), place});
  });
}

void add_dense(cudaStream_t stream, DType dtype, void* target, const void* values, int64_t n) {
  with_floating("add_rows", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, n, AddDense<T>{static_cast<T*>(target), static_cast<const T*>(values)});
  });
}

void renorm_rows(cudaStream_t stream, DType dtype, void* table, Index rows, int64_t n,
                 int64_t height, int64_t width, int64_t row_stride, int64_t column_stride,
                 double max_norm, double norm_type) {
  if (n == 0 || width == 0) return;
  RowOrder order(stream, n, static_cast<uint64_t>(height));
  order.give(rows, -1);
  order.sort();
  with_floating("embedding_renorm_", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    renorm_row<T><<<grid(n, 1), kThreads, 0, stream>>>(
        order.keys(), n, static_cast<uint64_t>(height), static_cast<T*>(table), width, row_stride,
        column_stride, max_norm, norm_type);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void scale_by_count(cudaStream_t stream, DType dtype, void* values, const int64_t* rows, int64_t n,
                    int64_t height, int64_t width) {
  if (n == 0 || width == 0) return;
  Scratch counts(stream, static_cast<size_t>(height) * sizeof(int));
  ARGOSY_CUDA(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream));
  for_each_item(stream, n, CountRow{counts.data<int>(), rows});
  with_floating("embedding_rows_grad", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(
        stream, n * width,
        ScaleRow<T>{static_cast<T*>(values), counts.data<int>(), rows, Splitter(width, n * width)});
  });
}

}  // namespace argosy::cuda
