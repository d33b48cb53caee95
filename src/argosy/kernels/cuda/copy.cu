#include "argosy/kernels/cuda/copy.h"

#include <algorithm>
#include <cstring>

#include "argosy/kernels/cuda/cast.h"
#include "argosy/kernels/cuda/elementwise.cuh"

namespace argosy::cuda {
namespace {

struct MoveOp {
  static constexpr Weight kWeight = Weight::light;
  static constexpr bool kMoves = true;
  template <class T>
  __device__ __forceinline__ T operator()(T x) const {
    return x;
  }
};

// --- fill ---

template <class T>
__global__ void __launch_bounds__(kThreads) fill_all(T* to, int64_t n, const T item) {
  constexpr int kEach = kPack<T>;
  Pack<T, kEach> pack;
#pragma unroll
  for (int j = 0; j < kEach; ++j) pack.at[j] = item;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t i = first; i < n / kEach; i += step) reinterpret_cast<Pack<T, kEach>*>(to)[i] = pack;
  if (first < n % kEach) to[n / kEach * kEach + first] = item;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_any(const __grid_constant__ Walk<1> w, const T item) {
  const uint32_t step = gridDim.x * kThreads;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < w.items; i += step) {
    int64_t offset[1];
    offsets_of(w, i, offset);
    static_cast<T*>(w.data[0])[offset[0]] = item;
  }
}

// --- transposition ---

// The operands' fast dimensions are different ones: a (of `from`) and b (of `to`). Squares of a and
// b go through shared memory; the other dimensions are a batch.
struct Tiles {
  const void* from;
  void* to;
  int64_t a, b;          // sizes
  int64_t from_b, to_a;  // strides; of from along a and of to along b they are 1
  Divider tiles_a, tiles_b;
  int rank;  // of the batch
  Divider size[kMaxRank];
  int64_t from_strides[kMaxRank], to_strides[kMaxRank];
};

template <class T>
inline constexpr int kTile = sizeof(T) <= 2 ? 64 : 32;

template <class T>
struct TileAt {
  int64_t a0, b0;  // where it begins
  const T* from;
  T* to;
};
template <class T, int side>
__device__ __forceinline__ TileAt<T> tile_of(const Tiles& t) {
  uint32_t rest = t.tiles_a.quotient(blockIdx.x);
  const int64_t a0 = int64_t{blockIdx.x - rest * t.tiles_a.d} * side;
  uint32_t batch = t.tiles_b.quotient(rest);
  const int64_t b0 = int64_t{rest - batch * t.tiles_b.d} * side;
  const T* from = static_cast<const T*>(t.from) + b0 * t.from_b + a0;
  T* to = static_cast<T*>(t.to) + a0 * t.to_a + b0;
  for (int d = t.rank - 1; d >= 0; --d) {
    const uint32_t q = t.size[d].quotient(batch), r = batch - q * t.size[d].d;
    from += r * t.from_strides[d];
    to += r * t.to_strides[d];
    batch = q;
  }
  return {a0, b0, from, to};
}

// Elements of 2 bytes, eight at once; all sizes and strides are multiples of 8. A thread reads
// eight of two rows, which are one word for each place of a; words of a place lie in a row of the
// tile, by groups of four, whose order turns with the eighth that the place is in: so neither
// writing words nor reading groups meets a bank twice.
__global__ void __launch_bounds__(kThreads) transpose_eights(const __grid_constant__ Tiles t) {
  constexpr int kSide = kTile<uint16_t>, kWords = kSide / 2, kEach = 8;
  static_assert(kThreads == kWords * kSide / kEach);
  using P = Pack<uint16_t, kEach>;
  __shared__ alignas(16) uint32_t tile[kSide][kWords];
  const auto [a0, b0, from, to] = tile_of<uint16_t, kSide>(t);
  const int at = static_cast<int>(threadIdx.x) % 8, down = static_cast<int>(threadIdx.x) / 8;
  if (a0 + at * kEach < t.a && b0 + 2 * down < t.b) {
    const uint16_t* first = from + 2 * down * t.from_b + at * kEach;
    const P p = *reinterpret_cast<const P*>(first);
    const P q = *reinterpret_cast<const P*>(first + t.from_b);
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      tile[at * kEach + e][down ^ (4 * at)] = p.at[e] | static_cast<uint32_t>(q.at[e]) << 16;
  }
  __syncthreads();
  if (b0 + at * kEach >= t.b) return;
#pragma unroll
  for (int u = 0; u < kSide; u += kWords) {
    const int a = u + down;
    if (a0 + a >= t.a) continue;
    *reinterpret_cast<uint4*>(to + a * t.to_a + at * kEach) =
        *reinterpret_cast<const uint4*>(&tile[a][(4 * at) ^ (4 * (a / kEach))]);
  }
}

// pairs: two elements of 2 bytes are moved at once; all sizes and strides are even.
template <class T, bool pairs>
__global__ void __launch_bounds__(kThreads) transpose(const __grid_constant__ Tiles t) {
  constexpr int kSide = kTile<T>, kLanes = 32, kRows = kThreads / kLanes;
  // So that a column lies in all banks: rows of an odd number of words, of pairs two rows.
  constexpr int kPad = pairs || sizeof(T) >= 4 ? 1 : 4 / static_cast<int>(sizeof(T));
  __shared__ T tile[kSide][kSide + kPad];
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int row = static_cast<int>(threadIdx.x) / kLanes;

  const auto [a0, b0, from, to] = tile_of<T, kSide>(t);
  constexpr int kEach = pairs ? 2 : 1, kDown = kSide / kRows, kAcross = kSide / (kLanes * kEach);
  using P = Pack<T, kEach>;
  P packs[kDown][kAcross];  // all loads before the first store
#pragma unroll
  for (int u = 0; u < kDown; ++u)
#pragma unroll
    for (int v = 0; v < kAcross; ++v) {
      const int i = u * kRows + row, j = (v * kLanes + lane) * kEach;
      if (b0 + i < t.b && a0 + j < t.a)
        packs[u][v] = *reinterpret_cast<const P*>(from + i * t.from_b + j);
    }
#pragma unroll
  for (int u = 0; u < kDown; ++u)
#pragma unroll
    for (int v = 0; v < kAcross; ++v)
#pragma unroll
      for (int e = 0; e < kEach; ++e)
        tile[u * kRows + row][(v * kLanes + lane) * kEach + e] = packs[u][v].at[e];
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kDown; ++u)
#pragma unroll
    for (int v = 0; v < kAcross; ++v) {
      const int i = u * kRows + row, j = (v * kLanes + lane) * kEach;
      if (a0 + i >= t.a || b0 + j >= t.b) continue;
      P pack;
#pragma unroll
      for (int e = 0; e < kEach; ++e) pack.at[e] = tile[j + e][i];
      *reinterpret_cast<P*>(to + i * t.to_a + j) = pack;
    }
}

// The dimension along which `from` (operand 0) is contiguous while `to` is along the last one, if
// both are long enough for tiles; else -1.
int crossed_dimension(const Merged& m) {
  constexpr int64_t kWorthwhile = 16;
  const int last = m.rank - 1;
  if (m.strides[last][1] != 1 || m.strides[last][0] <= 1 || m.shape[last] < kWorthwhile) return -1;
  for (int d = 0; d < last; ++d)
    if (m.strides[d][0] == 1 && m.shape[d] >= kWorthwhile) return d;
  return -1;
}

// Whether `n` elements of 2 bytes can be moved at once.
bool packs_fit(const Tiles& t, int n) {
  int64_t all = t.a | t.b | t.from_b | t.to_a;
  for (int d = 0; d < t.rank; ++d) all |= t.from_strides[d] | t.to_strides[d];
  const auto bytes = static_cast<size_t>(2 * n);
  return all % n == 0 && aligned(t.from, bytes) && aligned(t.to, bytes);
}

template <class T>
void run_tiles(cudaStream_t stream, const Merged& m, void* const* data, int d) {
  constexpr int64_t kSide = kTile<T>;
  const int last = m.rank - 1;
  Tiles t;
  t.from = data[0];
  t.to = data[1];
  t.a = m.shape[d];
  t.b = m.shape[last];
  t.from_b = m.strides[last][0];
  t.to_a = m.strides[d][1];
  const int64_t across = (t.a + kSide - 1) / kSide, down = (t.b + kSide - 1) / kSide;
  t.tiles_a = Divider(static_cast<uint32_t>(across));
  t.tiles_b = Divider(static_cast<uint32_t>(down));
  t.rank = 0;
  int64_t blocks = across * down;
  for (int i = 0; i < last; ++i) {
    if (i == d) continue;
    t.size[t.rank] = Divider(static_cast<uint32_t>(m.shape[i]));
    t.from_strides[t.rank] = m.strides[i][0];
    t.to_strides[t.rank] = m.strides[i][1];
    ++t.rank;
    blocks *= m.shape[i];
  }
  if constexpr (sizeof(T) == 2) {
    if (packs_fit(t, 8)) {
      transpose_eights<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(t);
      ARGOSY_CUDA_LAUNCHED();
      return;
    }
    if (packs_fit(t, 2)) {
      transpose<T, true><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(t);
      ARGOSY_CUDA_LAUNCHED();
      return;
    }
  }
  transpose<T, false><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(t);
  ARGOSY_CUDA_LAUNCHED();
}

int64_t count_of(const View& v) {
  int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
  return n;
}

}  // namespace

void copy(cudaStream_t stream, const View& to, const View& from) {
  const int64_t n = count_of(to);
  if (n == 0) return;
  if (to.dtype != from.dtype) return cast(stream, to, from);
  if (chain_recorder) [[unlikely]]
    chain_recorder->run();
  const View operands[] = {from, to};
  const Merged m = merged(operands, 2, 1);
  const int size = item_size(to.dtype), sizes[] = {size, size};
  if (m.rank == 1 && m.strides[0][0] == 1 && m.strides[0][1] == 1) {
    if (to.data == from.data) return;
    ARGOSY_CUDA(cudaMemcpyAsync(to.data, from.data, static_cast<size_t>(n) * size,
                                cudaMemcpyDeviceToDevice, stream));
    return;
  }
  with_width(size, [&](auto type) {
    using T = typename decltype(type)::type;
    if (crossed_dimension(m) < 0) return run_each<MoveOp, T, T>(stream, operands, nullptr);
    void* const data[] = {from.data, to.data};
    for_parts(m, data, sizes, 2, [&](const Merged& part, void* const* at) {
      const int d = crossed_dimension(part);
      if (d >= 0) return run_tiles<T>(stream, part, at, d);
      View views[2];
      for (int k = 0; k < 2; ++k) {
        views[k].data = at[k];
        views[k].dtype = to.dtype;
        views[k].rank = part.rank;
        for (int i = 0; i < part.rank; ++i) {
          views[k].shape[i] = part.shape[i];
          views[k].strides[i] = part.strides[i][k];
        }
      }
      run_each<MoveOp, T, T>(stream, views, nullptr);
    });
  });
}

void fill(cudaStream_t stream, const View& to, const void* item) {
  const int64_t n = count_of(to);
  if (n == 0) return;
  if (chain_recorder) [[unlikely]]
    chain_recorder->run();
  const Merged m = merged(&to, 1, 0);
  const bool dense = m.rank == 1 && m.strides[0][0] == 1;
  with_width(item_size(to.dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    T value;
    std::memcpy(&value, item, sizeof(T));
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&value);
    if (dense && std::all_of(bytes, bytes + sizeof(T), [&](uint8_t b) { return b == bytes[0]; })) {
      ARGOSY_CUDA(cudaMemsetAsync(to.data, bytes[0], static_cast<size_t>(n) * sizeof(T), stream));
      return;
    }
    if (dense && aligned(to.data)) {
      fill_all<T><<<blocks_for(n / kPack<T> + 1, 1), kThreads, 0, stream>>>(
          static_cast<T*>(to.data), n, value);
      ARGOSY_CUDA_LAUNCHED();
      return;
    }
    const int size = sizeof(T);
    for_parts(m, &to.data, &size, 1, [&](const Merged& part, void* const* at) {
      const auto w = walk_of<Walk<1>>(part, at, 1);
      fill_any<T><<<blocks_for(w.items, 1), kThreads, 0, stream>>>(w, value);
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

}  // namespace argosy::cuda
