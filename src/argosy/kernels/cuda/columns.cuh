#pragma once

#include <algorithm>

#include "argosy/kernels/cuda/common.cuh"

// Work along an axis that is not the last: [outer, n, inner], a block having some neighbouring
// places of inner, and some threads along n for each.
namespace argosy::cuda {

struct ColumnBlock {
  unsigned x, y;  // places of inner, threads along n; both powers of two, together at most 256
};
inline unsigned power_of_two(int64_t n, unsigned most) {
  unsigned p = 1;
  while (p < most && p < n) p *= 2;
  return p;
}
inline ColumnBlock column_block(int64_t n, int64_t inner) {
  const unsigned least = power_of_two(inner, 32);
  const unsigned y = power_of_two((n + 3) / 4, 256 / least);
  return {power_of_two(inner, 256 / y), y};
}

// Over the threads along n; every thread gets the result. `shared`: 256 items.
template <class T, class F>
__device__ __forceinline__ T column_reduce(T v, F f, T* shared) {
  const unsigned place = threadIdx.y * blockDim.x + threadIdx.x;
  shared[place] = v;
  for (unsigned half = blockDim.y / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) shared[place] = f(shared[place], shared[place + half * blockDim.x]);
  }
  __syncthreads();
  v = shared[threadIdx.x];
  __syncthreads();
  return v;
}

// f(offset of the column's first element, or -1 where the thread has none) for every column of the
// block's; all threads of a block make the same calls.
template <class F>
__device__ __forceinline__ void for_columns(int64_t outer, int64_t n, int64_t inner, F&& f) {
  const int64_t width = (inner + blockDim.x - 1) / blockDim.x;
  for (int64_t b = blockIdx.x; b < outer * width; b += gridDim.x) {
    const int64_t o = b / width, place = b % width * blockDim.x + threadIdx.x;
    f(place < inner ? o * n * inner + place : int64_t{-1});
  }
}
inline unsigned column_blocks(int64_t outer, int64_t inner, ColumnBlock block) {
  return static_cast<unsigned>(
      std::min<int64_t>(outer * ((inner + block.x - 1) / block.x), 1 << 30));
}

}  // namespace argosy::cuda
