#include "argosy/kernels/cuda/masks.h"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "argosy/kernels/cuda/index.cuh"

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
}

}  // namespace argosy::cuda
