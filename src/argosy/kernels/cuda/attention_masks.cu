#include "argosy/kernels/cuda/masks.h"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "argosy/kernels/cuda/index.cuh"

#include "argosy/kernels/cuda/each.cuh"
#include "argosy/kernels/cuda/attention_masks.h"

namespace argosy::cuda {
namespace {

template <class T>
struct AsNumber {
  __host__ __device__ T operator()(const uint8_t& v) const { return v != 0; }
};
template <class T>
using Numbers = thrust::transform_iterator<AsNumber<T>, const uint8_t*, T>;

template <class T>
Numbers<T> numbers(const bool* mask) {
  return Numbers<T>(reinterpret_cast<const uint8_t*>(mask), AsNumber<T>());
}

struct Unravel {
  const int64_t* places;
  int rank;
  int64_t step;
  Splitter size[kMaxRank];
  int64_t* to[kMaxRank];
  __device__ void operator()(int64_t k) const {
    int64_t i = places[k];
    for (int d = rank - 1; d > 0; --d) {
      int64_t at;
      i = size[d].split(i, &at);
      to[d][k * step] = at;
    }
    to[0][k * step] = i;
  }
};

struct SpreadPlace {
  const bool* mask;
  const int32_t* before;
  Splitter units;
  int64_t count;
  __device__ __forceinline__ int64_t operator()(int64_t i) const {
    int64_t unit;
    const int64_t row = units.split(i, &unit);
    if (!mask[row] || before[row] >= count) return kNowhere;
    return before[row] * units.d + unit;
  }
};

struct GoodRow {
  bool* keep;
  Index rows;
  int64_t height, padding;
  __device__ void operator()(int64_t i) const {
    const int64_t row = load_index(rows, i);
    keep[i] = row >= 0 && row < height && row != padding;
  }
};

}  // namespace

void count_true(cudaStream_t stream, const bool* mask, int64_t n, int64_t* count) {
  size_t bytes = 0;
  auto run = [&](void* room) {
    ARGOSY_CUDA(cub::DeviceReduce::Sum(room, bytes, numbers<int64_t>(mask), count,
                                       static_cast<int>(n), stream));
  };
  run(nullptr);
  Scratch room(stream, bytes);
  run(room.data());
}

void true_positions(cudaStream_t stream, const bool* mask, int64_t n, int64_t* places) {
  if (n == 0) return;
  Scratch count(stream, sizeof(int64_t));
  size_t bytes = 0;
  auto run = [&](void* room) {
    ARGOSY_CUDA(cub::DeviceSelect::Flagged(room, bytes, thrust::counting_iterator<int64_t>(0),
                                           numbers<bool>(mask), places, count.data<int64_t>(),
                                           static_cast<int>(n), stream));
  };
  run(nullptr);
  Scratch room(stream, bytes);
  run(room.data());
}

void unravel(cudaStream_t stream, const int64_t* places, int64_t count, int rank,
             const int64_t* shape, int64_t* const* to, int64_t step) {
  Unravel run{places, rank, step, {}, {}};
  int64_t all = 1;
  for (int d = 0; d < rank; ++d) all *= shape[d];
  for (int d = 0; d < rank; ++d) {
    run.size[d] = Splitter(shape[d], all);
    run.to[d] = to[d];
  }
  for_each_item(stream, count, run);
}

void spread_true(cudaStream_t stream, void* target, const bool* mask, int64_t n, const void* values,
                 int64_t count, int64_t row_bytes) {
  if (n == 0 || row_bytes == 0) return;
  Scratch before(stream, static_cast<size_t>(n) * sizeof(int32_t));
  size_t bytes = 0;
  auto run = [&](void* room) {
    ARGOSY_CUDA(cub::DeviceScan::ExclusiveSum(room, bytes, numbers<int32_t>(mask),
                                              before.data<int32_t>(), static_cast<int>(n), stream));
  };
  run(nullptr);
  Scratch room(stream, bytes);
  run(room.data());
  const int wide =
      widest(row_bytes, reinterpret_cast<uintptr_t>(target), reinterpret_cast<uintptr_t>(values));
  const int64_t units = row_bytes / wide;
  const SpreadPlace place{mask, before.data<int32_t>(), Splitter(units, n * units), count};
  with_width(wide, [&](auto type) {
    gather_each<typename decltype(type)::type>(stream, target, values, n * units, place);
  });
}

void good_rows(cudaStream_t stream, bool* keep, Index rows, int64_t n, int64_t height,
               int64_t padding) {
  for_each_item(stream, n, GoodRow{keep, rows, height, padding});
void fill(cudaStream_t stream, const T* x, int64_t batch, int64_t rows, int64_t columns,
          double value, T* y) {
  const T other = static_cast<T>(static_cast<float>(value));
  each(stream, batch * rows * columns, [=] __device__(int64_t i) {
    const int64_t line = i / columns;
    y[i] = i - line * columns <= line % rows ? x[i] : other;
  });
}

// Where sequences begin, of int32 or int64.
struct Starts {
  const void* data;
  bool narrow;
  __device__ __forceinline__ int64_t operator[](int64_t i) const {
    return narrow ? static_cast<const int32_t*>(data)[i] : static_cast<const int64_t*>(data)[i];
  }
};

// A block for each row; its sequence is the last that begins at or before it.
__global__ void mask_rows(Starts q, Starts k, int64_t sequences, int64_t rows, int64_t keys,
                          bool causal, bool* out) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    int64_t low = 0, high = sequences + 1;  // q[low - 1] <= i < q[high]
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (q[middle] <= i)
        low = middle + 1;
      else
        high = middle;
    }
    const int64_t s = low - 1;
    int64_t begin = 0, end = 0;
    if (s >= 0 && s < sequences) {
      begin = k[s];
      end = k[s + 1];
      if (causal && begin + i - q[s] + 1 < end) end = begin + i - q[s] + 1;
    }
    for (int64_t j = threadIdx.x; j < keys; j += blockDim.x)
      out[i * keys + j] = begin <= j && j < end;
  }
}

}  // namespace

void fill_future(cudaStream_t stream, DType dtype, const void* x, int64_t batch, int64_t rows,
                 int64_t columns, double value, void* y) {
  with_floating("fill_future", dtype, [&]<class T>(Type<T>) {
    fill<T>(stream, static_cast<const T*>(x), batch, rows, columns, value, static_cast<T*>(y));
  });
}

void varlen_mask(cudaStream_t stream, const void* starts_q, DType dtype_q, const void* starts_k,
                 DType dtype_k, int64_t sequences, int64_t rows, int64_t keys, bool causal,
                 bool* out) {
  if (rows * keys == 0) return;
  mask_rows<<<grid(rows, 1, 16), 256, 0, stream>>>({starts_q, dtype_q == DType::int32},
                                                   {starts_k, dtype_k == DType::int32}, sequences,
                                                   rows, keys, causal, out);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
