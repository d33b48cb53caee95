#include "argosy/kernels/cuda/conv.h"
#include "argosy/kernels/cuda/geometry.cuh"

// What surrounds cuDNN's convolutions: bias, padding that is not the same on both sides, layouts.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    bias_kernel(const T* __restrict__ bias, int64_t total, int64_t channels, int64_t inner,
                T* __restrict__ y) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t channel, rest;
    divide(divide(i, inner, rest), channels, channel);
    y[i] = store<T>(load(y[i]) + load(bias[channel]));
  }
}

// Several elements at once: of one channel, or of channels side by side (inner is 1).
template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    bias_packs_kernel(const T* __restrict__ bias, I packs, Splitter<I> by_inner,
                      Splitter<I> by_channels, bool side_by_side, T* __restrict__ y) {
  constexpr int kItems = kPack<T>;
  using Items = Pack<T, kItems>;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < packs;
       i += static_cast<I>(gridDim.x) * kThreads) {
    I rest, channel;
    by_channels(by_inner(i * kItems, rest), channel);
    Items v = reinterpret_cast<Items*>(y)[i];
    Items add;
    if (side_by_side)
      add = *reinterpret_cast<const Items*>(bias + channel);
    else
      for (int k = 0; k < kItems; ++k) add.at[k] = bias[channel];
#pragma unroll
    for (int k = 0; k < kItems; ++k) v.at[k] = store<T>(load(v.at[k]) + load(add.at[k]));
    reinterpret_cast<Items*>(y)[i] = v;
  }
}

// Can channels be told apart by packs?
template <class T>
bool takes_packs(const void* bias, int64_t channels, int64_t inner, const void* y) {
  const int64_t run = inner == 1 ? channels : inner;
  return run % kPack<T> == 0 && aligned(y) && (inner > 1 || aligned(bias));
}

struct Shift {
  int64_t from[3], to[3], offset[3];
  int64_t lanes;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    shift_kernel(Shift s, int64_t total, const T* __restrict__ from, T* __restrict__ to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t lane, q, r, z;
    int64_t outer = divide(i, s.lanes, lane);
    outer = divide(outer, s.to[2], q);
    outer = divide(outer, s.to[1], r);
    outer = divide(outer, s.to[0], z);
    z += s.offset[0];
    r += s.offset[1];
    q += s.offset[2];
    const bool has = z >= 0 && z < s.from[0] && r >= 0 && r < s.from[1] && q >= 0 && q < s.from[2];
    to[i] = has ? from[(((outer * s.from[0] + z) * s.from[1] + r) * s.from[2] + q) * s.lanes + lane]
                : T(0);
  }
}

constexpr int kTile = 32, kTileRows = 8;

// A block for each tile of 32 x 32, through shared memory so that both sides go along rows.
template <class T>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose_kernel(const T* __restrict__ from, T* __restrict__ to, int64_t tiles, int64_t rows,
                     int64_t columns) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  for (int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    int64_t tx, ty;
    const int64_t batch = divide(divide(i, across, tx), down, ty);
    const T* in = from + batch * rows * columns;
    T* out = to + batch * rows * columns;
    const int64_t column = tx * kTile + threadIdx.x;
    for (int k = threadIdx.y; k < kTile; k += kTileRows) {
      const int64_t row = ty * kTile + k;
      if (row < rows && column < columns) tile[k][threadIdx.x] = in[row * columns + column];
    }
    __syncthreads();
    const int64_t row = ty * kTile + threadIdx.x;
    for (int k = threadIdx.y; k < kTile; k += kTileRows) {
      const int64_t c = tx * kTile + k;
      if (row < rows && c < columns) out[c * rows + row] = tile[threadIdx.x][k];
    }
    __syncthreads();
  }
}

// Where one side has few elements: a block for 256 of the other, which lie side by side with their
// few in either `from` (`down`: columns are few) or `to`.
constexpr int64_t kThin = 16;
template <class T, bool down>
__global__ void __launch_bounds__(kThreads)
    transpose_thin(const T* __restrict__ from, T* __restrict__ to, int64_t parts, int64_t count,
                   int few) {
  __shared__ T tile[kThreads * kThin];
  const int64_t batch = blockIdx.x / parts, begin = blockIdx.x % parts * kThreads;
  from += batch * count * few;
  to += batch * count * few;
  const int here = static_cast<int>(count - begin < kThreads ? count - begin : kThreads);
  const int self = static_cast<int>(threadIdx.x);
  if constexpr (down) {
    for (int i = self; i < here * few; i += kThreads) tile[i] = from[begin * few + i];
    __syncthreads();
    if (self < here)
      for (int c = 0; c < few; ++c) to[c * count + begin + self] = tile[self * few + c];
  } else {
    if (self < here)
      for (int c = 0; c < few; ++c) tile[self * few + c] = from[c * count + begin + self];
    __syncthreads();
    for (int i = self; i < here * few; i += kThreads) to[begin * few + i] = tile[i];
  }
}

// --- images of less than eight channels, of 16 bits ---

constexpr int kWide = 8;
using WidePlace = Pack<uint16_t, kWide>;

__global__ void __launch_bounds__(kThreads)
    widen_kernel(const uint16_t* __restrict__ from, int64_t total, int64_t places, int channels,
                 WidePlace* __restrict__ to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t place;
    const int64_t outer = divide(i, places, place);
    const uint16_t* at = from + outer * channels * places + place;
    WidePlace wide;
#pragma unroll
    for (int c = 0; c < kWide; ++c) wide.at[c] = c < channels ? at[c * places] : uint16_t{0};
    to[i] = wide;
  }
}

__global__ void __launch_bounds__(kThreads)
    narrow_kernel(const WidePlace* __restrict__ from, int64_t total, int64_t places, int channels,
                  uint16_t* __restrict__ to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t place;
    const int64_t outer = divide(i, places, place);
    uint16_t* at = to + outer * channels * places + place;
    const WidePlace wide = from[i];
#pragma unroll
    for (int c = 0; c < kWide; ++c)
      if (c < channels) at[c * places] = wide.at[c];
  }
}

}  // namespace

void widen_channels(cudaStream_t stream, const void* from, void* to, int64_t outer,
                    int64_t channels, int64_t places) {
  const int64_t total = outer * places;
  if (total == 0) return;
  widen_kernel<<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
      static_cast<const uint16_t*>(from), total, places, static_cast<int>(channels),
      static_cast<WidePlace*>(to));
  ARGOSY_CUDA_LAUNCHED();
}

void narrow_channels(cudaStream_t stream, const void* from, void* to, int64_t outer,
                     int64_t channels, int64_t places) {
  const int64_t total = outer * places;
  if (total == 0) return;
  narrow_kernel<<<grid(total, kThreads, 16), kThreads, 0, stream>>>(
      static_cast<const WidePlace*>(from), total, places, static_cast<int>(channels),
      static_cast<uint16_t*>(to));
  ARGOSY_CUDA_LAUNCHED();
}

void add_channel_bias(cudaStream_t stream, DType dtype, const void* bias, int64_t outer,
                      int64_t channels, int64_t inner, void* y) {
  const int64_t total = outer * channels * inner;
  if (total == 0) return;
  with_floating("conv", dtype, [&]<class T>(Type<T>) {
    if (takes_packs<T>(bias, channels, inner, y)) {
      const int64_t packs = total / kPack<T>;
      with_index_of(total, [&]<class I>(Type<I>) {
        bias_packs_kernel<T, I><<<grid(packs, kThreads), kThreads, 0, stream>>>(
            static_cast<const T*>(bias), static_cast<I>(packs), Splitter<I>(inner),
            Splitter<I>(channels), inner == 1, static_cast<T*>(y));
        ARGOSY_CUDA_LAUNCHED();
      });
      return;
    }
    bias_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        static_cast<const T*>(bias), total, channels, inner, static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void shift_places(cudaStream_t stream, DType dtype, const void* from, const int64_t from_sizes[3],
                  void* to, const int64_t to_sizes[3], const int64_t offset[3], int64_t outer,
                  int64_t lanes) {
  Shift s;
  int64_t total = outer * lanes;
  for (int i = 0; i < 3; ++i) {
    s.from[i] = from_sizes[i];
    s.to[i] = to_sizes[i];
    s.offset[i] = offset[i];
    total *= to_sizes[i];
  }
  s.lanes = lanes;
  if (total == 0) return;
  with_width(item_size(dtype), [&]<class T>(Type<T>) {
    if constexpr (sizeof(T) <= 8) {
      shift_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
          s, total, static_cast<const T*>(from), static_cast<T*>(to));
      ARGOSY_CUDA_LAUNCHED();
    }
  });
}

void transpose_batched(cudaStream_t stream, DType dtype, const void* from, void* to, int64_t batch,
                       int64_t rows, int64_t columns) {
  if (batch == 0 || rows == 0 || columns == 0) return;
  const int64_t tiles = batch * ((rows + kTile - 1) / kTile) * ((columns + kTile - 1) / kTile);
  with_width(item_size(dtype), [&]<class T>(Type<T>) {
    if constexpr (sizeof(T) <= 8) {
      const int64_t few = std::min(rows, columns), count = std::max(rows, columns);
      const int64_t parts = (count + kThreads - 1) / kThreads;
      if (few <= kThin && batch * parts <= INT32_MAX) {
        const auto thin = columns == few ? transpose_thin<T, true> : transpose_thin<T, false>;
        thin<<<static_cast<unsigned>(batch * parts), kThreads, 0, stream>>>(
            static_cast<const T*>(from), static_cast<T*>(to), parts, count, static_cast<int>(few));
        ARGOSY_CUDA_LAUNCHED();
        return;
      }
      transpose_kernel<T><<<grid(tiles, 1, 32), dim3(kTile, kTileRows), 0, stream>>>(
          static_cast<const T*>(from), static_cast<T*>(to), tiles, rows, columns);
      ARGOSY_CUDA_LAUNCHED();
    }
  });
}

}  // namespace argosy::cuda
