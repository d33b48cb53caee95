#include "argosy/kernels/cuda/join.h"

#include <algorithm>

#include "argosy/kernels/cuda/index.cuh"

namespace argosy::cuda {
namespace {

constexpr int kParts = 32;

struct Parts {
  struct One {
    void* data;
    int64_t offset;  // in units of the whole
    Splitter width;
  };
  One at[kParts];
};

// Blocks of one y move one part.
template <class U, bool kApart>
__global__ void __launch_bounds__(kThreads)
    move_part(U* whole, const __grid_constant__ Parts parts, int64_t outer, int64_t total) {
  const Parts::One& part = parts.at[blockIdx.y];
  U* own = static_cast<U*>(part.data);
  const int64_t n = outer * part.width.d;
  constexpr int64_t kTile = int64_t{kThreads} * kAtOnce;
  for (int64_t base = blockIdx.x * kTile; base < n; base += gridDim.x * kTile) {
    U items[kAtOnce];
    int64_t place[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t i = base + k * kThreads + threadIdx.x;
      if (i >= n) continue;
      int64_t column;
      const int64_t row = part.width.split(i, &column);
      place[k] = row * total + part.offset + column;
      items[k] = kApart ? whole[place[k]] : own[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t i = base + k * kThreads + threadIdx.x;
      if (i >= n) continue;
      (kApart ? own[i] : whole[place[k]]) = items[k];
    }
  }
}

}  // namespace

void move_parts(cudaStream_t stream, void* whole, std::span<const Part> parts, int64_t outer,
                int64_t total, bool apart) {
  uint64_t all = static_cast<uint64_t>(total) | reinterpret_cast<uintptr_t>(whole);
  for (const Part& p : parts)
    all |= static_cast<uint64_t>(p.bytes) | reinterpret_cast<uintptr_t>(p.data);
  const int unit = widest(all);
  int64_t offset = 0;
  for (size_t first = 0; first < parts.size(); first += kParts) {
    const size_t last = std::min(parts.size(), first + kParts);
    Parts some{};
    int count = 0;
    int64_t largest = 0;
    for (size_t i = first; i < last; ++i) {
      const int64_t width = parts[i].bytes / unit;
      if (width > 0) {
        some.at[count++] = {parts[i].data, offset, Splitter(width, outer * width)};
        largest = std::max(largest, outer * width);
      }
      offset += width;
    }
    if (largest == 0) continue;
    const int64_t blocks = grid(largest, int64_t{kThreads} * kAtOnce);
    const dim3 shape(static_cast<unsigned>(blocks), static_cast<unsigned>(count));
    with_width(unit, [&](auto type) {
      using U = typename decltype(type)::type;
      if (apart)
        move_part<U, true>
            <<<shape, kThreads, 0, stream>>>(static_cast<U*>(whole), some, outer, total / unit);
      else
        move_part<U, false>
            <<<shape, kThreads, 0, stream>>>(static_cast<U*>(whole), some, outer, total / unit);
      ARGOSY_CUDA_LAUNCHED();
    });
  }
}

}  // namespace argosy::cuda
