#pragma once

#include <cstring>

#include "argosy/kernels/cuda/integers.cuh"
#include "argosy/kernels/cuda/reduce_layout.h"

// The reduction engine. An Op over elements of type T has
//
//   using Acc = ..;                       // a multiple of 4 bytes
//   static constexpr bool kShift;         // does add read `shift`, the first element of its
//   result? static constexpr bool kWide;          // is it worth kernels of its own with 16-byte
//   loads? Acc identity() const; Acc add(Acc a, T v, int64_t k, double shift) const;   // v is
//   element k; k rises along one Acc Acc combine(Acc a, Acc b) const; void store(int64_t at, Acc a)
//   const;  // at: place in the result
//
// the functions for the device.
namespace argosy::cuda {

inline constexpr int kReduceThreads = 256;
inline constexpr int kReduceAxes = 10;

// Where the i-th element of some axes is.
struct Offsets {
  int rank = 0;
  bool small = true;  // there are fewer than 2^31
  int64_t size[kReduceAxes] = {}, stride[kReduceAxes] = {}, out[kReduceAxes] = {};
  Divider divider[kReduceAxes];

  Offsets() = default;
  Offsets(const ReduceAxis* axes, int n) : rank(n) {
    int64_t total = 1;
    for (int d = 0; d < n; ++d) {
      size[d] = axes[d].size;
      stride[d] = axes[d].stride;
      out[d] = axes[d].out;
      total *= axes[d].size;
    }
    small = total < int64_t{1} << 31;
    for (int d = 0; small && d < n; ++d) {
      if (size[d] > 0) divider[d] = Divider(static_cast<uint32_t>(size[d]));
    }
  }

  __device__ __forceinline__ int64_t at(int64_t i) const {
    int64_t unused = 0;
    return at(i, unused);
  }
  // `to`: where it is in the result.
  __device__ __forceinline__ int64_t at(int64_t i, int64_t& to) const {
    if (rank <= 1) {
      to = i * out[0];
      return i * stride[0];
    }
    int64_t from = 0;
    to = 0;
    if (small) {
      uint32_t n = static_cast<uint32_t>(i);
      for (int d = rank - 1; d > 0; --d) {
        const uint32_t q = divider[d].quotient(n);
        const int64_t r = n - q * static_cast<uint32_t>(size[d]);
        from += r * stride[d];
        to += r * out[d];
        n = q;
      }
      i = n;
    } else {
      for (int d = rank - 1; d > 0; --d) {
        const int64_t q = i / size[d], r = i - q * size[d];
        from += r * stride[d];
        to += r * out[d];
        i = q;
      }
    }
    to += i * out[0];
    return from + i * stride[0];
  }
};

template <class A>
__device__ __forceinline__ A shuffle_xor(A v, int step) {
  static_assert(sizeof(A) % 4 == 0);
  uint32_t words[sizeof(A) / 4];
  memcpy(words, &v, sizeof(A));
#pragma unroll
  for (uint32_t& w : words) w = __shfl_xor_sync(0xffffffffu, w, step);
  memcpy(&v, words, sizeof(A));
  return v;
}

// One access of sizeof(T) * n bytes.
template <int n, class T>
__device__ __forceinline__ Pack<T, n> load_pack(const T* from) {
  using Raw = std::conditional_t<
      sizeof(T) * n == 16, uint4,
      std::conditional_t<sizeof(T) * n == 8, uint2,
                         std::conditional_t<sizeof(T) * n == 4, uint32_t, Pack<T, n>>>>;
  const Raw raw = *reinterpret_cast<const Raw*>(from);
  Pack<T, n> pack;
  memcpy(&pack, &raw, sizeof(pack));
  return pack;
}

// --- along rows ---

// Items of a row: packs of n elements, then `tail` elements one by one (where reduced.rank <= 1).
struct RowItems {
  int64_t items = 0, per_split = 0;
  int tail = 0;
};

// The elements of one row that one thread takes.
template <int n, class T, class Op>
__device__ __forceinline__ typename Op::Acc gather_row(const T* base, const Op& op,
                                                       const Offsets& reduced, const RowItems& row,
                                                       int lanes) {
  using Acc = typename Op::Acc;
  constexpr int kUnroll = n < 8 ? 4 : 2, kAccs = n < 4 ? n : 4;
  Acc acc[kAccs];
#pragma unroll
  for (Acc& a : acc) a = op.identity();
  double shift = 0;
  if constexpr (Op::kShift)
    if (row.items || row.tail) shift = static_cast<double>(load(base[0]));
  const auto take = [&](const Pack<T, n>& pack, int64_t item) {
#pragma unroll
    for (int j = 0; j < n; ++j)
      acc[j % kAccs] = op.add(acc[j % kAccs], pack.at[j], item * n + j, shift);
  };
  const int64_t begin = blockIdx.y * row.per_split;
  const int64_t end = row.items - begin < row.per_split ? row.items : begin + row.per_split;
  int64_t i = begin + threadIdx.x;
  for (; i + (kUnroll - 1) * lanes < end; i += kUnroll * lanes) {
    Pack<T, n> packs[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) packs[u] = load_pack<n>(base + reduced.at(i + u * lanes));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) take(packs[u], i + u * lanes);
  }
  for (; i < end; i += lanes) take(load_pack<n>(base + reduced.at(i)), i);
  if (n > 1 && blockIdx.y == gridDim.y - 1) {
    for (int t = threadIdx.x; t < row.tail; t += lanes) {
      const int64_t k = row.items * n + t;
      acc[0] = op.add(acc[0], base[k], k, shift);
    }
  }
#pragma unroll
  for (int j = 1; j < kAccs; ++j) acc[0] = op.combine(acc[0], acc[j]);
  return acc[0];
}

// Block: (lanes, rows), lanes a power of two. blockIdx.y: which range of each row; with `partial`,
// [split][row], nothing is stored.
template <int n, class T, class Op>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_rows(const T* __restrict__ x, const __grid_constant__ Op op,
                const __grid_constant__ Offsets kept, const __grid_constant__ Offsets reduced,
                int64_t rows, RowItems row, typename Op::Acc* partial) {
  using Acc = typename Op::Acc;
  __shared__ __align__(16) unsigned char room[kReduceThreads / kWarp * sizeof(Acc)];
  Acc* shared = reinterpret_cast<Acc*>(room);
  const int lanes = static_cast<int>(blockDim.x), in_block = static_cast<int>(blockDim.y);
  const int warp = (static_cast<int>(threadIdx.y) * lanes + static_cast<int>(threadIdx.x)) / kWarp;
  for (int64_t first = int64_t{blockIdx.x} * in_block; first < rows;
       first += int64_t{gridDim.x} * in_block) {
    const int64_t at = first + threadIdx.y;
    int64_t to = 0;
    Acc acc = op.identity();
    if (at < rows) acc = gather_row<n>(x + kept.at(at, to), op, reduced, row, lanes);
    for (int step = (lanes < kWarp ? lanes : kWarp) / 2; step; step /= 2)
      acc = op.combine(acc, shuffle_xor(acc, step));
    if (lanes > kWarp) {
      if (threadIdx.x % kWarp == 0) shared[warp] = acc;
      __syncthreads();
      if (threadIdx.x == 0)
        for (int w = 1; w < lanes / kWarp; ++w) acc = op.combine(acc, shared[warp + w]);
      __syncthreads();
    }
    if (threadIdx.x == 0 && at < rows) {
      if (partial)
        partial[blockIdx.y * rows + at] = acc;
      else
        op.store(to, acc);
    }
  }
}

// --- along columns ---

struct Columns {
  int64_t outer = 1, columns = 1, tiles = 1, count = 0, per_split = 0;
  int64_t stride = 1, out = 1;  // of a column
};

// Block: (tile, depth): a thread for n neighbouring columns, `depth` of them for each, combined in
// shared memory. partial: [split][outer][columns].
template <int n, class T, class Op>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns(const T* __restrict__ x, const __grid_constant__ Op op,
                   const __grid_constant__ Offsets kept, const __grid_constant__ Offsets reduced,
                   Columns c, typename Op::Acc* partial) {
  using Acc = typename Op::Acc;
  constexpr int kUnroll = n < 8 ? 4 : 2;
  __shared__ __align__(16) unsigned char room[kReduceThreads * sizeof(Acc)];
  Acc* shared = reinterpret_cast<Acc*>(room);
  const int tile = static_cast<int>(blockDim.x), depth = static_cast<int>(blockDim.y);
  Acc* own = shared + static_cast<int>(threadIdx.y) * tile + threadIdx.x;
  const int64_t begin = blockIdx.y * c.per_split;
  const int64_t end = c.count - begin < c.per_split ? c.count : begin + c.per_split;
  for (int64_t block = blockIdx.x; block < c.outer * c.tiles; block += gridDim.x) {
    const int64_t o = block / c.tiles;
    const int64_t column = ((block - o * c.tiles) * tile + threadIdx.x) * n;
    const bool live = column < c.columns;
    int64_t to = 0;
    const T* base = x + kept.at(o * c.columns, to) + column * c.stride;
    Acc acc[n];
    double shift[n] = {};
#pragma unroll
    for (Acc& a : acc) a = op.identity();
    if (live) {
      if constexpr (Op::kShift) {
        if (c.count) {
#pragma unroll
          for (int j = 0; j < n; ++j) shift[j] = static_cast<double>(load(base[j]));
        }
      }
      const auto take = [&](const Pack<T, n>& pack, int64_t r) {
#pragma unroll
        for (int j = 0; j < n; ++j) acc[j] = op.add(acc[j], pack.at[j], r, shift[j]);
      };
      int64_t r = begin + threadIdx.y;
      for (; r + (kUnroll - 1) * depth < end; r += kUnroll * depth) {
        Pack<T, n> packs[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) packs[u] = load_pack<n>(base + reduced.at(r + u * depth));
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) take(packs[u], r + u * depth);
      }
      for (; r < end; r += depth) take(load_pack<n>(base + reduced.at(r)), r);
    }
#pragma unroll
    for (int j = 0; j < n; ++j) {
      *own = acc[j];
      __syncthreads();
      for (int step = depth / 2; step; step /= 2) {
        if (static_cast<int>(threadIdx.y) < step) *own = op.combine(*own, own[step * tile]);
        __syncthreads();
      }
      if (threadIdx.y == 0 && live) {
        if (partial)
          partial[(blockIdx.y * c.outer + o) * c.columns + column + j] = *own;
        else
          op.store(to + (column + j) * c.out, *own);
      }
    }
  }
}

// --- the second pass ---

// Block: (lanes, results): lanes threads, at most a warp, combine the splits of one result.
template <class Op>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_partials(const __grid_constant__ Op op, const __grid_constant__ Offsets kept,
                    int64_t results, int splits, const typename Op::Acc* partial) {
  using Acc = typename Op::Acc;
  const int lanes = static_cast<int>(blockDim.x);
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < results;
       first += int64_t{gridDim.x} * blockDim.y) {
    const int64_t i = first + threadIdx.y;
    Acc acc = op.identity();
    if (i < results)
      for (int s = threadIdx.x; s < splits; s += lanes)
        acc = op.combine(acc, partial[s * results + i]);
    for (int step = lanes / 2; step; step /= 2) acc = op.combine(acc, shuffle_xor(acc, step));
    if (threadIdx.x == 0 && i < results) {
      int64_t to = 0;
      kept.at(i, to);
      op.store(to, acc);
    }
  }
}

// --- host ---

template <class Op>
void launch_partials(cudaStream_t stream, const Op& op, const Offsets& kept, int64_t results,
                     int64_t splits, const typename Op::Acc* partial) {
  const int lanes = results >= 4096 ? 1 : kWarp, in_block = kReduceThreads / lanes;
  reduce_partials<<<grid(results, in_block), dim3(lanes, in_block), 0, stream>>>(
      op, kept, results, static_cast<int>(splits), partial);
  ARGOSY_CUDA_LAUNCHED();
}

template <int n, class T, class Op>
void launch_rows(cudaStream_t stream, const ReduceLayout& l, const T* x, const Op& op) {
  ReduceLayout packed = l;
  RowItems row;
  row.items = l.count / n;
  if (n > 1) {
    ReduceAxis& inner = packed.reduced[l.reduced_rank - 1];
    if (l.reduced_rank == 1) row.tail = static_cast<int>(l.count % n);
    inner.size /= n;
    inner.stride = n;
  }
  const RowPlan plan = plan_rows(l.results, row.items);
  row.per_split = (row.items + plan.splits - 1) / plan.splits;
  const Offsets kept(l.kept, l.kept_rank), reduced(packed.reduced, l.reduced_rank);
  const dim3 blocks(static_cast<unsigned>(plan.blocks), static_cast<unsigned>(plan.splits));
  const dim3 threads(plan.lanes, plan.rows_per_block);
  if (plan.splits == 1) {
    reduce_rows<n><<<blocks, threads, 0, stream>>>(x, op, kept, reduced, l.results, row, nullptr);
    ARGOSY_CUDA_LAUNCHED();
    return;
  }
  using Acc = typename Op::Acc;
  Scratch partial(stream, static_cast<size_t>(l.results * plan.splits) * sizeof(Acc));
  reduce_rows<n>
      <<<blocks, threads, 0, stream>>>(x, op, kept, reduced, l.results, row, partial.data<Acc>());
  ARGOSY_CUDA_LAUNCHED();
  launch_partials(stream, op, kept, l.results, plan.splits, partial.data<Acc>());
}

template <int n, class T, class Op>
void launch_columns(cudaStream_t stream, const ReduceLayout& l, const T* x, const Op& op) {
  const ReduceAxis& inner = l.kept[l.kept_rank - 1];
  const ColumnPlan plan = plan_columns(l.results / inner.size, inner.size, n, l.count);
  Columns c;
  c.outer = l.results / inner.size;
  c.columns = inner.size;
  c.tiles = plan.tiles;
  c.count = l.count;
  c.per_split = (l.count + plan.splits - 1) / plan.splits;
  c.stride = inner.stride;
  c.out = inner.out;
  const Offsets kept(l.kept, l.kept_rank), reduced(l.reduced, l.reduced_rank);
  const dim3 blocks(static_cast<unsigned>(plan.blocks), static_cast<unsigned>(plan.splits));
  const dim3 threads(plan.tile, plan.depth);
  if (plan.splits == 1) {
    reduce_columns<n><<<blocks, threads, 0, stream>>>(x, op, kept, reduced, c, nullptr);
    ARGOSY_CUDA_LAUNCHED();
    return;
  }
  using Acc = typename Op::Acc;
  Scratch partial(stream, static_cast<size_t>(l.results * plan.splits) * sizeof(Acc));
  reduce_columns<n><<<blocks, threads, 0, stream>>>(x, op, kept, reduced, c, partial.data<Acc>());
  ARGOSY_CUDA_LAUNCHED();
  launch_partials(stream, op, kept, l.results, plan.splits, partial.data<Acc>());
}

// Do packs of n elements along `inner` begin at multiples of their size, whatever the others say?
inline bool packs_fit(const ReduceLayout& l, bool columns, const void* x, int n, size_t item) {
  const ReduceAxis& inner = columns ? l.kept[l.kept_rank - 1] : l.reduced[l.reduced_rank - 1];
  if (inner.stride != 1 || !aligned(x, n * item)) return false;
  if ((columns || l.reduced_rank > 1) && inner.size % n) return false;
  for (int d = 0; d < l.kept_rank; ++d)
    if (&l.kept[d] != &inner && l.kept[d].stride % n) return false;
  for (int d = 0; d < l.reduced_rank; ++d)
    if (&l.reduced[d] != &inner && l.reduced[d].stride % n) return false;
  return true;
}

// Of the reduction of x over axes; op stores the results.
template <class T, class Op>
void reduce_with(cudaStream_t stream, const View& view, uint32_t axes, const Op& op) {
  const ReduceLayout l = reduce_layout(view, axes);
  if (l.results == 0) return;
  const T* x = static_cast<const T*>(view.data);
  if (l.columns) {
    constexpr int kMost = 64 / static_cast<int>(sizeof(typename Op::Acc));
    constexpr int n = !Op::kWide ? 1 : kPack<T> < kMost ? kPack<T> : kMost;
    if (n > 1 && packs_fit(l, true, x, n, sizeof(T)))
      launch_columns<n>(stream, l, x, op);
    else
      launch_columns<1>(stream, l, x, op);
    return;
  }
  constexpr int n = Op::kWide ? kPack<T> : 1;
  if (n > 1 && l.count >= n && l.reduced_rank && packs_fit(l, false, x, n, sizeof(T)))
    launch_rows<n>(stream, l, x, op);
  else
    launch_rows<1>(stream, l, x, op);
}

// --- results in a dtype that is known when it runs ---

__device__ __forceinline__ void put_real(void* y, DType dtype, int64_t at, double v) {
  switch (dtype) {
    case DType::float16:
      static_cast<half_t*>(y)[at] = store<half_t>(static_cast<float>(v));
      return;
    case DType::bfloat16:
      static_cast<bf16_t*>(y)[at] = store<bf16_t>(static_cast<float>(v));
      return;
    case DType::float32:
      static_cast<float*>(y)[at] = static_cast<float>(v);
      return;
    default:
      static_cast<double*>(y)[at] = v;
  }
}

// Integers wrap; bool tells whether it is not 0.
__device__ __forceinline__ void put_integer(void* y, DType dtype, int64_t at, int64_t v) {
  switch (dtype) {
    case DType::bool_:
      static_cast<uint8_t*>(y)[at] = v != 0;
      return;
    case DType::uint8:
    case DType::int8:
      static_cast<uint8_t*>(y)[at] = static_cast<uint8_t>(v);
      return;
    case DType::uint16:
    case DType::int16:
      static_cast<uint16_t*>(y)[at] = static_cast<uint16_t>(v);
      return;
    case DType::uint32:
    case DType::int32:
      static_cast<uint32_t*>(y)[at] = static_cast<uint32_t>(v);
      return;
    default:
      static_cast<int64_t*>(y)[at] = v;
  }
}

}  // namespace argosy::cuda
