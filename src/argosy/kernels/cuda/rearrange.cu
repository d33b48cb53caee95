#include "argosy/kernels/cuda/rearrange.h"

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

struct Numbers {
  int64_t at[kMaxRank];
};
__global__ void put(int64_t* target, Numbers numbers, int n) {
  if (static_cast<int>(threadIdx.x) < n) target[threadIdx.x] = numbers.at[threadIdx.x];
}

struct AtLeastZero {
  __host__ __device__ int64_t operator()(int64_t v) const { return v < 0 ? 0 : v; }
};

struct FindOwner {
  int64_t* owner;
  const int64_t* starts;
  int64_t n;
  __device__ void operator()(int64_t k) const {
    int64_t low = 0, high = n;  // starts[low] <= k < starts[high]
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (starts[middle] <= k ? low : high) = middle;
    }
    owner[k] = low;
  }
};

template <class T>
struct AddRepeats {
  T* target;
  const T* values;
  const int64_t* starts;
  Splitter inner, n;
  int64_t total;
  __device__ void operator()(int64_t i) const {
    int64_t column, row;
    const int64_t o = n.split(inner.split(i, &column), &row);
    Computed<T> sum{};
    const int64_t last = starts[row + 1] < total ? starts[row + 1] : total;
    for (int64_t k = starts[row]; k < last; ++k)
      sum = plus<Computed<T>>(sum, load(values[(o * total + k) * inner.d + column]));
    target[i] = store<T>(sum);
  }
};

template <class T>
struct AddStrided {
  T* target;
  const T* values;
  int64_t size, offset;
  int rank;
  Splitter shape[kMaxRank];
  int64_t strides[kMaxRank];
  __device__ void operator()(int64_t i) const {
    int64_t place = offset, rest = i;
    for (int d = rank - 1; d >= 0 && rest; --d) {
      int64_t at;
      rest = shape[d].split(rest, &at);
      place += at * strides[d];
    }
    if (place >= 0 && place < size) add_at(target + place, values[i]);
  }
};

template <class F>
void with_sums(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    case DType::complex64:
      return f(Type<c64>{});
    case DType::complex128:
      return f(Type<c128>{});
    default:
      return with_floating(what, dtype, f);
  }
}

}  // namespace

void put_numbers(cudaStream_t stream, int64_t* target, const int64_t* numbers, int n) {
  if (n == 0) return;
  Numbers held;
  for (int i = 0; i < n; ++i) held.at[i] = numbers[i];
  put<<<1, kMaxRank, 0, stream>>>(target, held, n);
  ARGOSY_CUDA_LAUNCHED();
}

void sum_before(cudaStream_t stream, int64_t* starts, const int64_t* counts, int64_t n) {
  ARGOSY_CUDA(cudaMemsetAsync(starts, 0, sizeof(int64_t), stream));
  if (n == 0) return;
  const thrust::transform_iterator<AtLeastZero, const int64_t*, int64_t> from(counts,
                                                                              AtLeastZero());
  size_t bytes = 0;
  auto run = [&](void* room) {
    ARGOSY_CUDA(
        cub::DeviceScan::InclusiveSum(room, bytes, from, starts + 1, static_cast<int>(n), stream));
  };
  run(nullptr);
  Scratch room(stream, bytes);
  run(room.data());
}

void owners(cudaStream_t stream, int64_t* owner, const int64_t* starts, int64_t n, int64_t total) {
  for_each_item(stream, total, FindOwner{owner, starts, n});
}

void add_repeats(cudaStream_t stream, DType dtype, void* target, const void* values,
                 const int64_t* starts, int64_t outer, int64_t n, int64_t total, int64_t inner) {
  const int64_t all = outer * n * inner;
  with_sums("repeat_interleave_grad", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_item(stream, all,
                  AddRepeats<T>{static_cast<T*>(target), static_cast<const T*>(values), starts,
                                Splitter(inner, all), Splitter(n, all), total});
  });
}

void add_strided(cudaStream_t stream, void* target, int64_t size, int64_t offset,
                 const View& values, int64_t n) {
  with_sums("as_strided_add", values.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    AddStrided<T> run{static_cast<T*>(target),
                      static_cast<const T*>(values.data),
                      size,
                      offset,
                      values.rank,
                      {},
                      {}};
    for (int d = 0; d < values.rank; ++d) {
      run.shape[d] = Splitter(values.shape[d], n);
      run.strides[d] = values.strides[d];
    }
    for_each_item(stream, n, run);
  });
}

}  // namespace argosy::cuda
