#include <algorithm>

#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/scan.cuh"
#include "argosy/kernels/cuda/sort.h"
#include "argosy/kernels/cuda/sort_key.cuh"

// What is found in sorted rows: modes, places of values, quantiles.
namespace argosy::cuda {
namespace {

struct Latest {
  __device__ int64_t identity() const { return -1; }
  __device__ int64_t combine(int64_t a, int64_t b) const { return a > b ? a : b; }
};

// A block for each row of sorted places: the longest run of equal bytes, of equally long ones the
// first.
__global__ void __launch_bounds__(kScanThreads)
    longest_runs(Keys x, SortShape s, const uint32_t* order, void* values, int64_t* index) {
  __shared__ int64_t shared[kWarp];
  const Latest op;
  for (int64_t row = blockIdx.x; row < s.outer * s.inner; row += gridDim.x) {
    const int64_t base = row / s.inner * s.n * s.inner + row % s.inner;
    const uint32_t* places = order + row * s.n;
    const auto value = [&](int64_t k) { return x.raw(base + places[k] * s.inner); };
    int64_t start = -1;  // of the run that reaches this tile
    uint64_t best = 0;   // length and, reversed, last place
    for (int64_t tile = 0; tile < s.n; tile += kScanThreads) {
      const int64_t k = tile + threadIdx.x;
      const bool live = k < s.n;
      const uint64_t v = live ? value(k) : 0;
      const int64_t begins = live && (k == 0 || value(k - 1) != v) ? k : -1;
      int64_t total;
      const int64_t earlier = before_in_block(op, begins, total, shared);
      const int64_t from = op.combine(start, op.combine(earlier, begins));
      if (live && (k == s.n - 1 || value(k + 1) != v)) {
        const uint64_t length = static_cast<uint64_t>(k - from + 1);
        const uint64_t rank = length << 32 | (0xffffffffu - static_cast<uint32_t>(k));
        if (rank > best) best = rank;
      }
      start = op.combine(start, total);
    }
    for (int step = kWarp / 2; step; step /= 2) {
      const uint64_t other = shuffle_xor(best, step);
      if (other > best) best = other;
    }
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = static_cast<int64_t>(best);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 0; w < kScanThreads / kWarp; ++w)
        if (static_cast<uint64_t>(shared[w]) > best) best = static_cast<uint64_t>(shared[w]);
      const int64_t at = places[0xffffffffu - static_cast<uint32_t>(best)];
      copy_item(x.bits / 8, values, row, x.data, base + at * s.inner);
      index[row] = at;
    }
    __syncthreads();
  }
}

__global__ void search_rows(Keys sorted, Keys values, bool narrow, void* index, int64_t total,
                            bool one_row, int64_t n, int64_t m, bool right) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t base = one_row ? 0 : i / m * n;
    const uint64_t wanted = values.at(i);
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const uint64_t v = sorted.at(base + middle);
      if (right ? v <= wanted : v < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    if (narrow)
      static_cast<int32_t*>(index)[i] = static_cast<int32_t>(low);
    else
      static_cast<int64_t*>(index)[i] = low;
  }
}

constexpr int kMostQuantiles = 64;
struct Quantiles {
  double q[kMostQuantiles];
  int first, count;  // q are those from `first` on
  int all;
};

// order [rows, n]: rising, nan last.
__global__ void find_quantiles(Keys x, int64_t rows, int64_t n, const uint32_t* order,
                               const __grid_constant__ Quantiles wanted,
                               Interpolation interpolation, bool ignore_nan, int64_t* low,
                               int64_t* high, void* weight) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * wanted.count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = i / wanted.count, k = i - row * wanted.count;
    const int64_t to = row * wanted.all + wanted.first + k;
    const uint32_t* places = order + row * n;
    int64_t numbers = 0, end = n;  // how many come before the first nan
    while (numbers < end) {
      const int64_t middle = numbers + (end - numbers) / 2;
      if (x.is_nan(x.raw(row * n + places[middle])))
        end = middle;
      else
        numbers = middle + 1;
    }
    if (numbers == 0 || (numbers < n && !ignore_nan)) {
      low[to] = high[to] = places[numbers];
      put_real(weight, x.dtype, to, 0);
      continue;
    }
    const double at = wanted.q[k] * static_cast<double>(numbers - 1);
    int64_t below = static_cast<int64_t>(floor(at)), above = static_cast<int64_t>(ceil(at));
    double w = at - floor(at);
    switch (interpolation) {
      case Interpolation::lower:
        above = below;
        w = 0;
        break;
      case Interpolation::higher:
        below = above;
        w = 0;
        break;
      case Interpolation::midpoint:
        w = below == above ? 0 : 0.5;
        break;
      case Interpolation::nearest:
        below = above = static_cast<int64_t>(nearbyint(at));
        w = 0;
        break;
      default:
        break;
    }
    low[to] = places[below];
    high[to] = places[above];
    put_real(weight, x.dtype, to, w);
  }
}

// --- distinct numbers ---

__global__ void places_in_turn(uint32_t* order, int64_t n) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    order[i] = static_cast<uint32_t>(i);
}

// 1 where a group begins.
__global__ void mark_groups(Keys x, int64_t n, const uint32_t* order, uint32_t* starts) {
  for (int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n;
       k += int64_t{gridDim.x} * blockDim.x) {
    bool begins = k == 0;
    if (!begins) {
      const uint64_t here = x.rising(order[k]);
      begins = here != x.rising(order[k - 1]) || (x.floating && here == x.all);
    }
    starts[k] = begins;
  }
}

__global__ void give_groups(const void* x, int item, int64_t n, const uint32_t* order,
                            const uint32_t* group, void* values, DType index_dtype, void* first,
                            void* inverse, uint32_t* starts) {
  for (int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n;
       k += int64_t{gridDim.x} * blockDim.x) {
    const int64_t g = group[k] - 1, at = order[k];
    if (inverse) put_integer(inverse, index_dtype, at, g);
    if (k > 0 && group[k - 1] == group[k]) continue;
    copy_item(item, values, g, x, at);
    if (first) put_integer(first, index_dtype, g, at);
    starts[g] = static_cast<uint32_t>(k);
  }
}

__global__ void give_counts(const uint32_t* starts, int64_t n, int64_t groups, DType index_dtype,
                            void* counts) {
  for (int64_t g = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; g < groups;
       g += int64_t{gridDim.x} * blockDim.x)
    put_integer(counts, index_dtype, g, (g + 1 < groups ? starts[g + 1] : n) - starts[g]);
}

__global__ void pair_kernel(int64_t* numbers, const int64_t* ranks, int64_t n) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    numbers[i] = numbers[i] * n + ranks[i];
}

}  // namespace

void mode_rows(cudaStream_t stream, DType dtype, const void* x, void* values, int64_t* index,
               const SortShape& s) {
  const int64_t rows = s.rows();
  if (rows == 0 || s.n == 0) return;
  const Scratch order(stream, static_cast<size_t>(rows * s.n) * sizeof(uint32_t));
  order_rows(stream, dtype, x, s, s.n, false, order.data<uint32_t>());
  longest_runs<<<grid(rows, 1), kScanThreads, 0, stream>>>(Keys(x, dtype, false), s,
                                                           order.data<uint32_t>(), values, index);
  ARGOSY_CUDA_LAUNCHED();
}

void search_sorted(cudaStream_t stream, DType dtype, const void* sorted, const void* values,
                   DType index_dtype, void* index, int64_t outer, bool one_row, int64_t n,
                   int64_t m, bool right) {
  const int64_t total = outer * m;
  if (total == 0) return;
  search_rows<<<grid(total, 256), 256, 0, stream>>>(
      Keys(sorted, dtype, false), Keys(values, dtype, false), index_dtype == DType::int32, index,
      total, one_row, n, m, right);
  ARGOSY_CUDA_LAUNCHED();
}

void quantile_positions(cudaStream_t stream, DType dtype, const void* x, int64_t rows, int64_t n,
                        const std::vector<double>& q, Interpolation interpolation, bool ignore_nan,
                        int64_t* low, int64_t* high, void* weight) {
  const int all = static_cast<int>(q.size());
  if (rows == 0 || n == 0 || all == 0) return;
  const Scratch order(stream, static_cast<size_t>(rows * n) * sizeof(uint32_t));
  order_rows(stream, dtype, x, {rows, n, 1}, n, false, order.data<uint32_t>());
  for (int first = 0; first < all; first += kMostQuantiles) {
    Quantiles wanted{};
    wanted.first = first;
    wanted.count = std::min(kMostQuantiles, all - first);
    wanted.all = all;
    std::copy_n(q.begin() + first, wanted.count, wanted.q);
    find_quantiles<<<grid(rows * wanted.count, 128), 128, 0, stream>>>(
        Keys(x, dtype, false), rows, n, order.data<uint32_t>(), wanted, interpolation, ignore_nan,
        low, high, weight);
    ARGOSY_CUDA_LAUNCHED();
  }
}

void group_equal(cudaStream_t stream, DType dtype, const void* x, int64_t n, bool consecutive,
                 uint32_t* order, uint32_t* group) {
  if (consecutive) {
    places_in_turn<<<grid(n, 256), 256, 0, stream>>>(order, n);
    ARGOSY_CUDA_LAUNCHED();
  } else {
    order_rows(stream, dtype, x, {1, n, 1}, n, false, order);
  }
  mark_groups<<<grid(n, 256), 256, 0, stream>>>(Keys(x, dtype, false), n, order, group);
  ARGOSY_CUDA_LAUNCHED();
  scan_sum(stream, false, DType::uint32, group, group, {1, n, 1}, false);
}

void write_groups(cudaStream_t stream, DType dtype, const void* x, int64_t n, const uint32_t* order,
                  const uint32_t* group, int64_t groups, void* values, DType index_dtype,
                  void* first, void* inverse, void* counts) {
  const Scratch starts(stream, static_cast<size_t>(groups) * sizeof(uint32_t));
  give_groups<<<grid(n, 256), 256, 0, stream>>>(x, item_size(dtype), n, order, group, values,
                                                index_dtype, first, inverse,
                                                starts.data<uint32_t>());
  ARGOSY_CUDA_LAUNCHED();
  if (!counts) return;
  give_counts<<<grid(groups, 256), 256, 0, stream>>>(starts.data<uint32_t>(), n, groups,
                                                     index_dtype, counts);
  ARGOSY_CUDA_LAUNCHED();
}

void pair_ranks(cudaStream_t stream, int64_t* numbers, const int64_t* ranks, int64_t n) {
  if (n == 0) return;
  pair_kernel<<<grid(n, 256), 256, 0, stream>>>(numbers, ranks, n);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
