#pragma once

#include <algorithm>
#include <cstring>

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/scan.h"

// The scan engine. An Op has
//
//   using Acc = ..;                            // a multiple of 4 bytes
//   Acc identity() const;
//   Acc get(int64_t at, int64_t k) const;      // element k of its row, which lies at `at`
//   Acc combine(Acc a, Acc b) const;           // a comes before b; associative
//   void put(int64_t at, Acc a) const;
//
// Rows that are too few to fill the device are cut into chunks: their totals first, then a scan of
// the totals, then the chunks, each from where the one before ended.
namespace argosy::cuda {

inline constexpr int kScanThreads = 256, kScanItems = 4;

template <class A>
__device__ __forceinline__ A shuffle_up(A v, int step) {
  static_assert(sizeof(A) % 4 == 0);
  uint32_t words[sizeof(A) / 4];
  memcpy(words, &v, sizeof(A));
#pragma unroll
  for (uint32_t& w : words) w = __shfl_up_sync(0xffffffffu, w, step);
  memcpy(&v, words, sizeof(A));
  return v;
}

// What all threads before this one have, combined; `total` of all. Of kScanThreads threads; ends
// with a barrier. shared: one for each warp.
template <class Op, class A>
__device__ __forceinline__ A before_in_block(const Op& op, A v, A& total, A* shared) {
  constexpr int kWarps = kScanThreads / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const A left = shuffle_up(v, step);
    if (lane >= step) v = op.combine(left, v);
  }
  if (lane == kWarp - 1) shared[warp] = v;
  A before = shuffle_up(v, 1);
  if (lane == 0) before = op.identity();
  __syncthreads();
  A ahead = op.identity();
  total = op.identity();
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) ahead = total;
    total = op.combine(total, shared[w]);
  }
  __syncthreads();
  return op.combine(ahead, before);
}

struct ScanRows {
  int64_t rows = 1, n = 1, inner = 1, chunks = 1, per_chunk = 1;
  bool reverse = false;

  __device__ __forceinline__ int64_t base(int64_t row) const {
    return row / inner * n * inner + row % inner;
  }
  __device__ __forceinline__ int64_t end(int64_t chunk) const {
    const int64_t begin = chunk * per_chunk;
    return n - begin < per_chunk ? n : begin + per_chunk;
  }
  __device__ __forceinline__ int64_t place(int64_t k) const { return reverse ? n - 1 - k : k; }
};

// blockIdx.y: chunk. With `totals`, [row][chunk], nothing is put; `starts` likewise, or null.
template <class Op>
__global__ void __launch_bounds__(kScanThreads)
    scan_rows(const __grid_constant__ Op op, ScanRows s, const typename Op::Acc* starts,
              typename Op::Acc* totals) {
  using Acc = typename Op::Acc;
  __shared__ __align__(16) unsigned char room[kScanThreads / kWarp * sizeof(Acc)];
  Acc* shared = reinterpret_cast<Acc*>(room);
  constexpr int64_t kTile = kScanThreads * kScanItems;
  const int64_t end = s.end(blockIdx.y);
  for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
    const int64_t base = s.base(row), slot = row * s.chunks + blockIdx.y;
    Acc carry = starts ? starts[slot] : op.identity();
    for (int64_t tile = blockIdx.y * s.per_chunk; tile < end; tile += kTile) {
      const int64_t first = tile + threadIdx.x * kScanItems;
      Acc items[kScanItems];
#pragma unroll
      for (int i = 0; i < kScanItems; ++i) {
        const int64_t k = first + i;
        items[i] = k < end ? op.get(base + s.place(k) * s.inner, s.place(k)) : op.identity();
        if (i > 0) items[i] = op.combine(items[i - 1], items[i]);
      }
      Acc total;
      const Acc before = before_in_block(op, items[kScanItems - 1], total, shared);
      if (!totals) {
        const Acc ahead = op.combine(carry, before);
#pragma unroll
        for (int i = 0; i < kScanItems; ++i) {
          const int64_t k = first + i;
          if (k < end) op.put(base + s.place(k) * s.inner, op.combine(ahead, items[i]));
        }
      }
      carry = op.combine(carry, total);
    }
    if (totals && threadIdx.x == 0) totals[slot] = carry;
  }
}

// The same, a thread for each row: for rows that lie beside each other.
template <class Op>
__global__ void __launch_bounds__(kScanThreads)
    scan_columns(const __grid_constant__ Op op, ScanRows s, const typename Op::Acc* starts,
                 typename Op::Acc* totals) {
  using Acc = typename Op::Acc;
  constexpr int kUnroll = 4;
  const int64_t begin = blockIdx.y * s.per_chunk, end = s.end(blockIdx.y);
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < s.rows;
       row += int64_t{gridDim.x} * blockDim.x) {
    const int64_t base = s.base(row), slot = row * s.chunks + blockIdx.y;
    Acc carry = starts ? starts[slot] : op.identity();
    const auto at = [&](int64_t k) { return base + s.place(k) * s.inner; };
    const auto take = [&](const Acc& v, int64_t k) {
      carry = op.combine(carry, v);
      if (!totals) op.put(at(k), carry);
    };
    int64_t k = begin;
    for (; k + kUnroll <= end; k += kUnroll) {
      Acc items[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) items[u] = op.get(at(k + u), s.place(k + u));
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) take(items[u], k + u);
    }
    for (; k < end; ++k) take(op.get(at(k), s.place(k)), k);
    if (totals) totals[slot] = carry;
  }
}

// Where each chunk starts: a block for each row. chunks <= kScanThreads.
template <class Op>
__global__ void __launch_bounds__(kScanThreads)
    scan_totals(const __grid_constant__ Op op, int64_t rows, int chunks, typename Op::Acc* totals) {
  using Acc = typename Op::Acc;
  __shared__ __align__(16) unsigned char room[kScanThreads / kWarp * sizeof(Acc)];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Acc* at = totals + row * chunks + threadIdx.x;
    const bool live = static_cast<int>(threadIdx.x) < chunks;
    Acc total;
    const Acc before =
        before_in_block(op, live ? *at : op.identity(), total, reinterpret_cast<Acc*>(room));
    if (live) *at = before;
  }
}

template <class Op>
void scan_with(cudaStream_t stream, const ScanShape& shape, bool reverse, const Op& op) {
  using Acc = typename Op::Acc;
  ScanRows s;
  s.rows = shape.outer * shape.inner;
  s.n = shape.n;
  s.inner = shape.inner;
  s.reverse = reverse;
  if (s.rows == 0 || s.n == 0) return;
  const bool columns = s.inner >= kWarp;
  const int64_t in_block = columns ? kScanThreads : 1;
  const int64_t blocks = (s.rows + in_block - 1) / in_block;
  const int64_t wanted = int64_t{multiprocessors()} * (columns ? 8 : 6);
  if (blocks < wanted) {
    const int64_t room = s.n / (columns ? 64 : 4 * kScanThreads * kScanItems);
    s.chunks = std::clamp<int64_t>(std::min(wanted / blocks, room), 1, kScanThreads);
  }
  s.per_chunk = (s.n + s.chunks - 1) / s.chunks;
  s.chunks = (s.n + s.per_chunk - 1) / s.per_chunk;
  const dim3 size(static_cast<unsigned>(grid(s.rows, in_block)), static_cast<unsigned>(s.chunks));
  const auto launch = [&](const Acc* starts, Acc* totals) {
    if (columns)
      scan_columns<<<size, kScanThreads, 0, stream>>>(op, s, starts, totals);
    else
      scan_rows<<<size, kScanThreads, 0, stream>>>(op, s, starts, totals);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (s.chunks == 1) return launch(nullptr, nullptr);
  Scratch room(stream, static_cast<size_t>(s.rows * s.chunks) * sizeof(Acc));
  Acc* totals = room.data<Acc>();
  launch(nullptr, totals);
  scan_totals<<<grid(s.rows, 1), kScanThreads, 0, stream>>>(op, s.rows, static_cast<int>(s.chunks),
                                                            totals);
  ARGOSY_CUDA_LAUNCHED();
  launch(totals, nullptr);
}

}  // namespace argosy::cuda
