#include "argosy/kernels/cuda/clip.h"

#include <algorithm>
#include <cmath>

#include "argosy/kernels/cuda/floats.cuh"

namespace argosy::cuda::clip {
namespace {

constexpr int kThreads = 256;
constexpr int kAhead = 4;                          // loads in flight
constexpr int kChunk = kThreads * 4 * kAhead * 2;  // elements of a block

struct Entry {
  const char* from;
  char* to;
  int64_t n;
  Kind kind;
  bool aligned;
};
constexpr int kEntries = 80;
struct Table {
  Entry entries[kEntries];
  uint32_t first[kEntries + 1];  // block of each entry, then their number
  int count;
};
static_assert(sizeof(Table) <= 4000);  // of kernel arguments, with room for others

// launch(table, blocks, blocks before) for all pieces that have elements.
template <class F>
int64_t for_tables(Pieces pieces, F&& launch) {
  Table table;
  table.count = 0;
  table.first[0] = 0;
  int64_t before = 0;
  const auto flush = [&] {
    if (table.count == 0) return;
    launch(table, table.first[table.count], before);
    before += table.first[table.count];
    table.count = 0;
  };
  for (const Piece& p : pieces) {
    const int64_t blocks = (p.n + kChunk - 1) / kChunk;
    if (blocks == 0) continue;
    if (table.count == kEntries ||
        (table.count && table.first[table.count] + blocks > (int64_t{1} << 30)))
      flush();
    Entry& e = table.entries[table.count];
    e.from = static_cast<const char*>(p.from);
    e.to = static_cast<char*>(p.to);
    e.n = p.n;
    e.kind = kind_of(p.from, p.dtype);
    e.aligned = aligned(p.from) && aligned(p.to);
    table.first[table.count + 1] = table.first[table.count] + static_cast<uint32_t>(blocks);
    ++table.count;
  }
  flush();
  return before;
}

__device__ __forceinline__ const Entry& entry_of(const Table& table, int64_t& begin, int64_t& end) {
  int low = 0, high = table.count - 1;  // the last entry that begins at or before the block
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (table.first[middle] <= blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  const Entry& e = table.entries[low];
  begin = static_cast<int64_t>(blockIdx.x - table.first[low]) * kChunk;
  end = begin + kChunk < e.n ? begin + kChunk : e.n;
  return e;
}

// f(values, at, count) for up to four elements at a time of the block's chunk.
template <class T, class F>
__device__ __forceinline__ void for_elements(const Entry& e, int64_t begin, int64_t end, F&& f) {
  constexpr int64_t kStep = kThreads * 4;
  const int64_t own = begin + threadIdx.x * 4;
  if (e.aligned && end - begin == kChunk) {
#pragma unroll
    for (int round = 0; round < kChunk / (kStep * kAhead); ++round) {
      Raw raw[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
        raw[k] = fetch(e.from, e.kind, own + (round * kAhead + k) * kStep);
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        T v[4];
        decode(raw[k], e.kind, v);
        f(v, own + (round * kAhead + k) * kStep, 4);
      }
    }
    return;
  }
  for (int64_t i = own; i < end; i += kStep) {
    T v[4] = {};
    const int count = end - i < 4 ? static_cast<int>(end - i) : 4;
    for (int k = 0; k < count; ++k) v[k] = get_one<T>(e.from, e.kind, i + k);
    f(v, i, count);
  }
}

// --- norms ---

enum class Order { two, one, zero, infinity, any };

template <Order order>
struct Part {
  double p;
  __device__ __forceinline__ double operator()(double x) const {
    if constexpr (order == Order::two) return x * x;
    if constexpr (order == Order::zero) return x != 0 ? 1 : 0;
    if constexpr (order == Order::any) return pow(fabs(x), p);
    return fabs(x);
  }
};
template <Order order>
using Join = std::conditional_t<order == Order::infinity, Max, Sum>;

// One number for each block.
template <Order order>
__global__ void __launch_bounds__(kThreads)
    parts(const __grid_constant__ Table table, double p, double* out) {
  __shared__ double shared[kWarp];
  int64_t begin, end;
  const Entry& e = entry_of(table, begin, end);
  const Part<order> part{p};
  const Join<order> join;
  double sum = 0;
  for_elements<double>(e, begin, end, [&](const double* v, int64_t, int count) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (k < count) sum = join(sum, part(v[k]));
  });
  sum = block_reduce(sum, 0.0, join, shared);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <Order order>
__global__ void whole(const double* parts, int64_t n, double p, double* out) {
  __shared__ double shared[kWarp];
  const Join<order> join;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum = join(sum, parts[i]);
  sum = block_reduce(sum, 0.0, join, shared);
  if (threadIdx.x != 0) return;
  *out = order == Order::two ? sqrt(sum) : order == Order::any ? pow(sum, 1 / p) : sum;
}

template <Order order>
void norm_of(cudaStream_t stream, Pieces pieces, double p, double* out) {
  int64_t blocks = 0;
  for (const Piece& piece : pieces) blocks += (piece.n + kChunk - 1) / kChunk;
  const Scratch sums(stream, static_cast<size_t>(std::max<int64_t>(blocks, 1)) * sizeof(double));
  for_tables(pieces, [&](const Table& table, uint32_t count, int64_t before) {
    parts<order><<<count, kThreads, 0, stream>>>(table, p, sums.data<double>() + before);
    ARGOSY_CUDA_LAUNCHED();
  });
  whole<order><<<1, 1024, 0, stream>>>(sums.data<double>(), blocks, p, out);
  ARGOSY_CUDA_LAUNCHED();
}

// --- factors ---

// Not fmax: a norm that is not a number must show in what is scaled.
__global__ void norm_to_factor(const double* norm, double most, double* factor) {
  *factor = *norm <= most ? 1 : most / *norm;
}

template <class T>
__global__ void grads_to_factor(const double* norm, double most, double* factor, T* total) {
  *total = static_cast<T>(static_cast<Computed<T>>(*norm));
  const double f = most / (*norm + 1e-6);
  *factor = f >= 1 ? 1 : f;
}

// --- scaling ---

__device__ __forceinline__ void write(const Entry& e, int64_t i, int count, const float* v) {
  if (count == 4 && e.aligned)
    put(e.to, e.kind, i, v);
  else
    for (int k = 0; k < count; ++k) put_one(e.to, e.kind, i + k, v[k]);
}
__device__ __forceinline__ void write(const Entry& e, int64_t i, int count, const double* v) {
  if (count == 4 && e.aligned)
    put(e.to, e.kind, i, v);
  else
    for (int k = 0; k < count; ++k) put_one(e.to, e.kind, i + k, v[k]);
}

template <class T>
__device__ __forceinline__ void scale_chunk(const Entry& e, int64_t begin, int64_t end, T factor) {
  for_elements<T>(e, begin, end, [&](T* v, int64_t i, int count) {
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] *= factor;
    write(e, i, count, v);
  });
}

__global__ void __launch_bounds__(kThreads)
    scale_all(const __grid_constant__ Table table, const double* factor) {
  int64_t begin, end;
  const Entry& e = entry_of(table, begin, end);
  const double f = *factor;
  if (f == 1 && e.from == e.to) return;
  if (e.kind == Kind::f64)
    scale_chunk<double>(e, begin, end, f);
  else
    scale_chunk<float>(e, begin, end, static_cast<float>(f));
}

// float16 is divided, since 1 / scale may be too small for it; others are multiplied.
template <class T>
__device__ __forceinline__ bool unscale_chunk(const Entry& e, int64_t begin, int64_t end,
                                              double scale) {
  bool bad = false;
  const T by = static_cast<T>(scale), times = static_cast<T>(1 / scale);
  for_elements<T>(e, begin, end, [&](T* v, int64_t i, int count) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = e.kind == Kind::f16 ? v[k] / by : v[k] * times;
      // As stored: what overflows when it is rounded counts.
      T kept = v[k];
      if (e.kind == Kind::f16) kept = __half2float(__float2half_rn(static_cast<float>(kept)));
      if (e.kind == Kind::bf16)
        kept = __bfloat162float(__float2bfloat16_rn(static_cast<float>(kept)));
      bad |= k < count && !isfinite(kept);
    }
    write(e, i, count, v);
  });
  return bad;
}

__global__ void __launch_bounds__(kThreads)
    unscale_all(const __grid_constant__ Table table, double scale, bool* found) {
  int64_t begin, end;
  const Entry& e = entry_of(table, begin, end);
  const bool bad = e.kind == Kind::f64 ? unscale_chunk<double>(e, begin, end, scale)
                                       : unscale_chunk<float>(e, begin, end, scale);
  if (bad) *found = true;  // whoever writes, writes the same
}

template <class T>
__global__ void clamp(const T* x, T* y, int64_t n, Computed<T> least, Computed<T> most) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    const Computed<T> v = load(x[i]);
    y[i] = store<T>(v < least ? least : v > most ? most : v);
  }
}

}  // namespace

void norm(cudaStream_t stream, Pieces pieces, double p, double* out) {
  if (p == 2) return norm_of<Order::two>(stream, pieces, p, out);
  if (p == 1) return norm_of<Order::one>(stream, pieces, p, out);
  if (p == 0) return norm_of<Order::zero>(stream, pieces, p, out);
  if (std::isinf(p)) return norm_of<Order::infinity>(stream, pieces, p, out);
  norm_of<Order::any>(stream, pieces, p, out);
}

void factor_by_norm(cudaStream_t stream, const double* norm, double most, double* factor) {
  norm_to_factor<<<1, 1, 0, stream>>>(norm, most, factor);
  ARGOSY_CUDA_LAUNCHED();
}

void factor_of_grads(cudaStream_t stream, const double* norm, double most, double* factor,
                     void* total, DType dtype) {
  with_floating("clip_grad_norm_", dtype, [&]<class T>(Type<T>) {
    grads_to_factor<T><<<1, 1, 0, stream>>>(norm, most, factor, static_cast<T*>(total));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void scale(cudaStream_t stream, Pieces pieces, const double* factor) {
  for_tables(pieces, [&](const Table& table, uint32_t count, int64_t) {
    scale_all<<<count, kThreads, 0, stream>>>(table, factor);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void by_value(cudaStream_t stream, const void* x, void* y, DType dtype, int64_t n, double least,
              double most) {
  if (n == 0) return;
  with_floating("clip_by_value", dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    clamp<T><<<grid(n, kThreads, 32), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(y), n, static_cast<C>(least),
        static_cast<C>(most));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void unscale(cudaStream_t stream, Pieces pieces, double scale, bool* found) {
  ARGOSY_CUDA(cudaMemsetAsync(found, 0, sizeof(bool), stream));
  for_tables(pieces, [&](const Table& table, uint32_t count, int64_t) {
    unscale_all<<<count, kThreads, 0, stream>>>(table, scale, found);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda::clip
