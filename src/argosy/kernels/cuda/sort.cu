#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>

#include "argosy/kernels/cuda/sort.h"
#include "argosy/kernels/cuda/sort_key.cuh"

// Orders of rows: short ones in shared memory, few of many by selection, others by CUB's radix
// sort, whose keys hold the row above the element's.
namespace argosy::cuda {
namespace {

constexpr int kSortThreads = 512, kSelectThreads = 1024;
constexpr int kShort = 2048;  // entries that a block sorts

// Key and place: no two are equal, so any sort is stable.
struct Entry {
  uint64_t key;
  uint32_t at;
};
__device__ __forceinline__ bool before(const Entry& a, const Entry& b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

// Where row r of [outer, n, inner] begins.
__device__ __forceinline__ int64_t row_base(const SortShape& s, int64_t r) {
  return r / s.inner * s.n * s.inner + r % s.inner;
}

// Sorts each `width` (a power of two) of the `total` entries by itself. Begins and ends with a
// barrier.
__device__ void sort_entries(uint64_t* keys, uint32_t* at, int total, int width) {
  for (int size = 2; size <= width; size *= 2) {
    for (int step = size / 2; step; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < total / 2; i += blockDim.x) {
        const int a = 2 * i - (i & (step - 1)), b = a + step;
        const bool rising = (a & (width - 1) & size) == 0;
        const Entry left{keys[a], at[a]}, right{keys[b], at[b]};
        if (before(right, left) == rising) {
          keys[a] = right.key;
          at[a] = right.at;
          keys[b] = left.key;
          at[b] = left.at;
        }
      }
    }
  }
  __syncthreads();
}

// Rows of at most kShort elements; `width` entries for each, a power of two.
__global__ void __launch_bounds__(kSortThreads)
    sort_short(Keys x, SortShape s, int width, int in_block, int64_t k, uint32_t* order) {
  __shared__ uint64_t keys[kShort];
  __shared__ uint32_t at[kShort];
  const int64_t rows = s.outer * s.inner;
  const int total = width * in_block;
  for (int64_t first = int64_t{blockIdx.x} * in_block; first < rows;
       first += int64_t{gridDim.x} * in_block) {
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
      const int64_t row = first + i / width;
      const int place = i & (width - 1);
      const bool live = row < rows && place < s.n;
      keys[i] = live ? x.at(row_base(s, row) + place * s.inner) : ~uint64_t{0};
      at[i] = live ? place : ~uint32_t{0};
    }
    sort_entries(keys, at, total, width);
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
      const int64_t row = first + i / width;
      const int place = i & (width - 1);
      if (row < rows && place < k) order[row * k + place] = at[i];
    }
    __syncthreads();
  }
}

// --- the first k of long rows, k <= kShort ---

struct Selected {
  uint64_t prefix;  // digits found so far
  uint32_t left;    // how many are sought among those that have them
};

// The digit of the entry sought, from the histogram of those that have the prefix.
__device__ void next_digit(const uint32_t* histogram, Selected& found, int shift) {
  if (threadIdx.x == 0) {
    uint32_t left = found.left;
    int digit = 0;
    while (digit < 255 && histogram[digit] < left) left -= histogram[digit++];
    found.prefix |= uint64_t(digit) << shift;
    found.left = left;
  }
  __syncthreads();
}

// A block for each row: the k-th entry digit by digit, those of its key and then those of its
// place; then all up to it.
__global__ void __launch_bounds__(kSelectThreads)
    select_rows(Keys x, SortShape s, int place_bits, int k, int width, uint32_t* order) {
  __shared__ uint64_t keys[kShort];
  __shared__ uint32_t at[kShort];
  __shared__ uint32_t histogram[256];
  __shared__ Selected key, place;
  __shared__ uint32_t count;
  for (int64_t row = blockIdx.x; row < s.outer * s.inner; row += gridDim.x) {
    const int64_t base = row_base(s, row);
    if (threadIdx.x == 0) {
      key = {0, static_cast<uint32_t>(k)};
      count = 0;
    }
    for (int shift = x.bits - 8; shift >= 0; shift -= 8) {
      for (int i = threadIdx.x; i < 256; i += blockDim.x) histogram[i] = 0;
      __syncthreads();
      const int known = shift + 8;
      for (int64_t i = threadIdx.x; i < s.n; i += blockDim.x) {
        const uint64_t v = x.at(base + i * s.inner);
        if (known == 64 || v >> known == key.prefix >> known)
          atomicAdd(&histogram[v >> shift & 255], 1);
      }
      __syncthreads();
      next_digit(histogram, key, shift);
    }
    if (threadIdx.x == 0) place = {0, key.left};
    for (int shift = place_bits - 8; shift >= 0; shift -= 8) {
      for (int i = threadIdx.x; i < 256; i += blockDim.x) histogram[i] = 0;
      __syncthreads();
      const int known = shift + 8;
      for (int64_t i = threadIdx.x; i < s.n; i += blockDim.x) {
        if (static_cast<uint64_t>(i) >> known != place.prefix >> known) continue;
        if (x.at(base + i * s.inner) == key.prefix) atomicAdd(&histogram[i >> shift & 255], 1);
      }
      __syncthreads();
      next_digit(histogram, place, shift);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      keys[i] = ~uint64_t{0};
      at[i] = ~uint32_t{0};
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < s.n; i += blockDim.x) {
      const uint64_t v = x.at(base + i * s.inner);
      if (v > key.prefix || (v == key.prefix && static_cast<uint64_t>(i) > place.prefix)) continue;
      const uint32_t slot = atomicAdd(&count, 1);
      keys[slot] = v;
      at[slot] = static_cast<uint32_t>(i);
    }
    sort_entries(keys, at, width, width);
    for (int i = threadIdx.x; i < k; i += blockDim.x) order[row * k + i] = at[i];
    __syncthreads();
  }
}

// --- long rows ---

// Keys of all rows, the number of the row above the element's where `with_row`; at: place in the
// row, or among all (all_places).
template <class K>
__global__ void make_keys(Keys x, SortShape s, bool with_row, bool all_places, K* keys,
                          uint32_t* at) {
  const int64_t total = s.outer * s.inner * s.n;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = i / s.n, place = i - row * s.n;
    uint64_t key = x.at(row_base(s, row) + place * s.inner);
    if (with_row) key |= static_cast<uint64_t>(row) << x.bits;
    keys[i] = static_cast<K>(key);
    at[i] = static_cast<uint32_t>(all_places ? i : place);
  }
}

__global__ void rows_of_places(const uint32_t* at, int64_t total, int64_t n, uint64_t* keys) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * blockDim.x)
    keys[i] = static_cast<uint64_t>(at[i] / static_cast<uint32_t>(n));
}

__global__ void take_places(const uint32_t* at, int64_t rows, int64_t n, int64_t k, bool all_places,
                            uint32_t* order) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * k;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = i / k;
    const uint32_t place = at[row * n + (i - row * k)];
    order[i] = place - static_cast<uint32_t>(all_places ? row * n : 0);
  }
}

template <class K>
void radix_sort(cudaStream_t stream, cub::DoubleBuffer<K>& keys, cub::DoubleBuffer<uint32_t>& at,
                int64_t total, int bits) {
  size_t bytes = 0;
  const int items = static_cast<int>(total);
  ARGOSY_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, at, items, 0, bits, stream));
  const Scratch room(stream, std::max<size_t>(bytes, 1));
  ARGOSY_CUDA(
      cub::DeviceRadixSort::SortPairs(room.data(), bytes, keys, at, items, 0, bits, stream));
}

template <class K>
void sort_long(cudaStream_t stream, const Keys& x, const SortShape& s, int64_t k, uint32_t* order) {
  const int64_t rows = s.rows(), total = rows * s.n;
  const int row_bits = rows > 1 ? std::bit_width(static_cast<uint64_t>(rows - 1)) : 0;
  // Keys of 64 bits have no room for the row: by the element first, then by the row.
  const bool twice = rows > 1 && x.bits == 64, with_row = rows > 1 && !twice;
  const Scratch key_room(stream, static_cast<size_t>(total) * 2 * sizeof(K));
  const Scratch at_room(stream, static_cast<size_t>(total) * 2 * sizeof(uint32_t));
  cub::DoubleBuffer<K> keys(key_room.data<K>(), key_room.data<K>() + total);
  cub::DoubleBuffer<uint32_t> at(at_room.data<uint32_t>(), at_room.data<uint32_t>() + total);
  make_keys<<<grid(total, 256), 256, 0, stream>>>(x, s, with_row, twice, keys.Current(),
                                                  at.Current());
  ARGOSY_CUDA_LAUNCHED();
  radix_sort(stream, keys, at, total, x.bits + (with_row ? row_bits : 0));
  if constexpr (sizeof(K) == 8) {
    if (twice) {
      rows_of_places<<<grid(total, 256), 256, 0, stream>>>(at.Current(), total, s.n,
                                                           keys.Current());
      ARGOSY_CUDA_LAUNCHED();
      radix_sort(stream, keys, at, total, row_bits);
    }
  }
  take_places<<<grid(rows * k, 256), 256, 0, stream>>>(at.Current(), rows, s.n, k, twice, order);
  ARGOSY_CUDA_LAUNCHED();
}

// --- results ---

__global__ void give_rows(const void* x, int item, SortShape s, const uint32_t* order, int64_t k,
                          int64_t first, int64_t count, void* values, int64_t* index) {
  const int64_t total = s.outer * count * s.inner;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t j = i % s.inner, rest = i / s.inner, o = rest / count, c = rest % count;
    const int64_t at = order[(o * s.inner + j) * k + first + c];
    copy_item(item, values, i, x, (o * s.n + at) * s.inner + j);
    index[i] = at;
  }
}

int power_of_two(int64_t n) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

}  // namespace

void order_rows(cudaStream_t stream, DType dtype, const void* x, const SortShape& s, int64_t k,
                bool descending, uint32_t* order) {
  const int64_t rows = s.rows();
  if (rows == 0 || s.n == 0 || k == 0) return;
  const Keys keys(x, dtype, descending);
  if (s.n <= kShort) {
    const int width = std::max(2, power_of_two(s.n));
    const int in_block = std::max(1, 1024 / width), total = width * in_block;
    sort_short<<<grid(rows, in_block), std::min(kSortThreads, total / 2), 0, stream>>>(
        keys, s, width, in_block, k, order);
    ARGOSY_CUDA_LAUNCHED();
    return;
  }
  if (k <= kShort && k < s.n && (s.n <= 262144 || rows >= 64)) {
    // A whole number of digits that hold every place.
    const int place_bits = (std::bit_width(static_cast<uint64_t>(s.n - 1)) + 7) / 8 * 8;
    select_rows<<<grid(rows, 1), kSelectThreads, 0, stream>>>(
        keys, s, place_bits, static_cast<int>(k), std::max(2, power_of_two(k)), order);
    ARGOSY_CUDA_LAUNCHED();
    return;
  }
  if (rows == 1 && keys.bits <= 32)
    sort_long<uint32_t>(stream, keys, s, k, order);
  else
    sort_long<uint64_t>(stream, keys, s, k, order);
}

void sort_rows(cudaStream_t stream, DType dtype, const void* x, void* values, int64_t* index,
               const SortShape& s, int64_t first, int64_t count, bool descending) {
  const int64_t rows = s.rows(), k = first + count;
  if (rows == 0 || s.n == 0 || count == 0) return;
  const Scratch order(stream, static_cast<size_t>(rows * k) * sizeof(uint32_t));
  order_rows(stream, dtype, x, s, k, descending, order.data<uint32_t>());
  give_rows<<<grid(rows * count, 256), 256, 0, stream>>>(
      x, item_size(dtype), s, order.data<uint32_t>(), k, first, count, values, index);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
