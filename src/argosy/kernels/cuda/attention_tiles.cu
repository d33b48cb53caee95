#include <algorithm>

#include "argosy/kernels/cuda/attention.h"
#include "argosy/kernels/cuda/tensor_cores.cuh"

// Attention by tiles (Dao, arXiv:2307.08691): a block has 64 rows of one head, a warp 16 of them,
// and meets tile after tile of the other operand. Gradients of queries and of keys and values are
// two kernels, each of which makes the weights again: 7 products instead of 5, but no atomics.
namespace argosy::cuda {
namespace {

constexpr int kThreads = 128, kRows = 64;
constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// What becomes of scores: those of one batch and head, with their places.
template <class T>
struct Scores {
  int queries, keys;
  bool causal;
  float scale;  // times log2(e): weights are powers of 2
  const bool* taken;
  const T* added;
  int64_t row, column;  // strides of either
  const uint8_t* kept;
  int64_t first;  // the number of the first weight
  float factor;

  // The exponent of the weight of key k for query q.
  __device__ __forceinline__ float exponent(float product, int q, int k) const {
    if (q >= queries || k >= keys || (causal && k > q)) return -INFINITY;
    float s = product * scale;
    if (taken) {
      if (!taken[q * row + k * column]) s = -INFINITY;
    } else if (added) {
      s += load(added[q * row + k * column]) * kLog2e;
    }
    return s;
  }
  // By what the weight grows: 0 where it is dropped.
  __device__ __forceinline__ float growth(int q, int k) const {
    if (q >= queries || k >= keys) return 0;
    const int64_t i = first + static_cast<int64_t>(q) * keys + k;
    return kept[i >> 3] >> (i & 7) & 1 ? factor : 0.0f;
  }
};

// All that a launch knows; `of` gives what one batch and head sees.
template <class T>
struct Problem {
  int batch, heads, key_heads, queries, keys, size, value_size;
  bool causal;
  float scale, factor;
  HeadMatrices query, key, value;
  bool whole_query, whole_key, whole_value, whole_out;
  const void* mask;
  bool mask_is_bool;
  int64_t mask_strides[4];
  const uint8_t* kept;
  T* out;
  float* log_sum;
  const T* dout;
  float* delta;
  T *dquery, *dkey, *dvalue;

  __device__ Scores<T> scores(int b, int h) const {
    const int64_t at = b * mask_strides[0] + h * mask_strides[1];
    Scores<T> s{queries,
                keys,
                causal,
                scale * kLog2e,
                nullptr,
                nullptr,
                mask_strides[2],
                mask_strides[3],
                kept,
                (static_cast<int64_t>(b) * heads + h) * queries * static_cast<int64_t>(keys),
                factor};
    if (mask && mask_is_bool) s.taken = static_cast<const bool*>(mask) + at;
    if (mask && !mask_is_bool) s.added = static_cast<const T*>(mask) + at;
    return s;
  }
  __device__ int key_head(int h) const { return h / (heads / key_heads); }
  __device__ TileSource<T> matrix(const HeadMatrices& m, int b, int h, int rows, int columns,
                                  bool whole) const {
    return {static_cast<const T*>(m.data) + b * m.batch + h * m.head, m.row, rows, columns, whole};
  }
  __device__ TileSource<T> queries_of(int b, int h) const {
    return matrix(query, b, h, queries, size, whole_query);
  }
  __device__ TileSource<T> keys_of(int b, int h) const {
    return matrix(key, b, h, keys, size, whole_key);
  }
  __device__ TileSource<T> values_of(int b, int h) const {
    return matrix(value, b, h, keys, value_size, whole_value);
  }
  __device__ int64_t out_at(int b, int h) const {
    return (static_cast<int64_t>(b) * queries * heads + h) * value_size;
  }
  __device__ TileSource<T> dout_of(int b, int h) const {
    return {dout + out_at(b, h), static_cast<int64_t>(heads) * value_size, queries, value_size,
            whole_out};
  }
  __device__ int64_t sum_at(int b, int h) const {
    return (static_cast<int64_t>(b) * heads + h) * queries;
  }
};

// Writes rows `row` and `row` + 8 of a result with D columns, times `factor` of each.
template <class T, int D>
__device__ __forceinline__ void write_rows(T* to, int64_t stride, int row, int rows, int columns,
                                           const float (&c)[D / 8][4], float first, float second) {
  const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = row + half * 8;
    if (r >= rows) continue;
    T* line = to + r * stride;
    const float factor = half ? second : first;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      Pack<T, 2> two;
      two.at[0] = store<T>(c[n][half * 2] * factor);
      two.at[1] = store<T>(c[n][half * 2 + 1] * factor);
      T* at = line + 8 * n + column;
      if (columns % 2 == 0) {  // and so is the distance of rows
        if (8 * n + column < columns) *reinterpret_cast<Pack<T, 2>*>(at) = two;
        continue;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (8 * n + column + e < columns) at[e] = two.at[e];
    }
  }
}

// Over the four threads that share a row.
template <class F>
__device__ __forceinline__ float row_reduce(float v, F f) {
  v = f(v, __shfl_xor_sync(0xffffffffu, v, 1));
  return f(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

// Which tile of rows, head and batch a block has. Of causal scores the longest rows go first.
struct Block {
  int first, h, b;
  __device__ Block(int tiles, int heads, bool backward) {
    const int tile = static_cast<int>(blockIdx.x) % tiles;
    const int rest = static_cast<int>(blockIdx.x) / tiles;
    first = (backward ? tiles - 1 - tile : tile) * kRows;
    h = rest % heads;
    b = rest / heads;
  }
};

__device__ __forceinline__ int row_of_thread() {
  return static_cast<int>(threadIdx.x) / kWarp * 16 + static_cast<int>(threadIdx.x) % kWarp / 4;
}
__device__ __forceinline__ int warp_row() {
  return static_cast<int>(threadIdx.x) / kWarp * 16;
}

// --- forward ---

// Exponents of a tile with their running maximum and sum: makes weights of them, and gives by what
// all that was summed before shrinks.
template <class T, int kGroups>
__device__ __forceinline__ void to_weights(float (&s)[kGroups][4], const Scores<T>& scores, int q,
                                           int k, float (&high)[2], float (&sum)[2],
                                           float (&shrink)[2]) {
  float most[2] = {high[0], high[1]};
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = scores.exponent(s[n][e], q + e / 2 * 8, k + 8 * n + e % 2);
      most[e / 2] = fmaxf(most[e / 2], s[n][e]);
    }
  float base[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    most[i] = row_reduce(most[i], [](float a, float b) { return fmaxf(a, b); });
    base[i] = most[i] == -INFINITY ? 0.0f : most[i];
    shrink[i] = exp2f(high[i] - base[i]);
    high[i] = most[i];
    sum[i] *= shrink[i];
  }
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = exp2f(s[n][e] - base[e / 2]);
      sum[e / 2] += s[n][e];
    }
  if (!scores.kept) return;
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) s[n][e] *= scores.growth(q + e / 2 * 8, k + 8 * n + e % 2);
}

template <class T, int D, int kKeys>
__global__ void __launch_bounds__(kThreads) forward_kernel(const __grid_constant__ Problem<T> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int kStride = tile_stride<T, D>;
  T* query = reinterpret_cast<T*>(memory);
  T* key = query + kRows * kStride;
  T* value = key + kKeys * kStride;
  const Block block((a.queries + kRows - 1) / kRows, a.heads, a.causal);
  const int b = block.b, h = block.h, kh = a.key_head(h);
  const TileSource<T> keys = a.keys_of(b, kh), values = a.values_of(b, kh);
  const Scores<T> scores = a.scores(b, h);
  const int end = a.causal ? min(a.keys, block.first + kRows) : a.keys;
  const int q = block.first + row_of_thread(), column = static_cast<int>(threadIdx.x) % 4 * 2;

  load_tile<T, D, kRows, kThreads>(query, a.queries_of(b, h), block.first);
  load_tile<T, D, kKeys, kThreads>(key, keys, 0);
  end_copies();
  load_tile<T, D, kKeys, kThreads>(value, values, 0);
  end_copies();
  float out[D / 8][4] = {};
  float high[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  for (int k = 0; k < end; k += kKeys) {
    wait_copies<1>();
    __syncthreads();  // the keys are there
    float s[kKeys / 8][4] = {};
    add_by_rows<T, D, kKeys / 8>(s, query, warp_row(), key);
    __syncthreads();  // and read
    if (k + kKeys < end) load_tile<T, D, kKeys, kThreads>(key, keys, k + kKeys);
    end_copies();
    float shrink[2];
    to_weights(s, scores, q, k + column, high, sum, shrink);
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[n][e] *= shrink[e / 2];
    wait_copies<1>();
    __syncthreads();  // the values are there
    add_result_times<T, D, kKeys / 8>(out, s, value);
    __syncthreads();
    if (k + kKeys < end) load_tile<T, D, kKeys, kThreads>(value, values, k + kKeys);
    end_copies();
  }
  float inverse[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    sum[i] = row_reduce(sum[i], [](float x, float y) { return x + y; });
    inverse[i] = 1 / sum[i];
    if (column == 0 && q + 8 * i < a.queries)
      a.log_sum[a.sum_at(b, h) + q + 8 * i] = (high[i] + log2f(sum[i])) * kLn2;
    // Without a key all weights are 0, and 0 times infinity is no number.
  }
  write_rows<T, D>(a.out + a.out_at(b, h), static_cast<int64_t>(a.heads) * a.value_size, q,
                   a.queries, a.value_size, out, inverse[0], inverse[1]);
}

// --- gradients ---

// delta [batch, heads, queries] = the sum of dout * out over a row. A warp for each row.
template <class T>
__global__ void __launch_bounds__(kThreads) delta_kernel(const __grid_constant__ Problem<T> a) {
  const int64_t rows = static_cast<int64_t>(a.batch) * a.queries * a.heads;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / kWarp);
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
       r < rows; r += step) {
    float sum = 0;
    for (int c = lane; c < a.value_size; c += kWarp)
      sum += load(a.out[r * a.value_size + c]) * load(a.dout[r * a.value_size + c]);
    sum = warp_reduce(sum, Sum());
    const int64_t h = r % a.heads, rest = r / a.heads, q = rest % a.queries, b = rest / a.queries;
    if (lane == 0) a.delta[(b * a.heads + h) * a.queries + q] = sum;
  }
}

// The gradient of the exponents' tile, from products s of query and key and d of dout and value, of
// which it makes the weights that were kept and the gradient of the products.
template <class T>
__device__ __forceinline__ void through_weight(float& s, float& d, const Scores<T>& scores, int q,
                                               int k, float log_sum, float delta) {
  const float weight = exp2f(scores.exponent(s, q, k) - log_sum * kLog2e);
  float growth = 1;
  if (scores.kept) growth = scores.growth(q, k);
  s = weight * growth;
  d = weight * (d * growth - delta);
}

template <class T, int D, int kKeys>
__global__ void __launch_bounds__(kThreads) dquery_kernel(const __grid_constant__ Problem<T> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int kStride = tile_stride<T, D>;
  T* query = reinterpret_cast<T*>(memory);
  T* dout = query + kRows * kStride;
  T* key = dout + kRows * kStride;
  T* value = key + kKeys * kStride;
  const Block block((a.queries + kRows - 1) / kRows, a.heads, a.causal);
  const int b = block.b, h = block.h, kh = a.key_head(h);
  const TileSource<T> keys = a.keys_of(b, kh), values = a.values_of(b, kh);
  const Scores<T> scores = a.scores(b, h);
  const int end = a.causal ? min(a.keys, block.first + kRows) : a.keys;
  const int q = block.first + row_of_thread(), column = static_cast<int>(threadIdx.x) % 4 * 2;

  load_tile<T, D, kRows, kThreads>(query, a.queries_of(b, h), block.first);
  load_tile<T, D, kRows, kThreads>(dout, a.dout_of(b, h), block.first);
  load_tile<T, D, kKeys, kThreads>(value, values, 0);
  end_copies();
  load_tile<T, D, kKeys, kThreads>(key, keys, 0);
  end_copies();
  float log_sum[2], delta[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool there = q + 8 * i < a.queries;
    log_sum[i] = there ? a.log_sum[a.sum_at(b, h) + q + 8 * i] : 0.0f;
    delta[i] = there ? a.delta[a.sum_at(b, h) + q + 8 * i] : 0.0f;
  }
  float grad[D / 8][4] = {};
  for (int k = 0; k < end; k += kKeys) {
    wait_copies<1>();
    __syncthreads();  // the values are there
    float d[kKeys / 8][4] = {};
    add_by_rows<T, D, kKeys / 8>(d, dout, warp_row(), value);
    __syncthreads();
    if (k + kKeys < end) load_tile<T, D, kKeys, kThreads>(value, values, k + kKeys);
    end_copies();
    wait_copies<1>();
    __syncthreads();  // the keys are there
    float s[kKeys / 8][4] = {};
    add_by_rows<T, D, kKeys / 8>(s, query, warp_row(), key);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        through_weight(s[n][e], d[n][e], scores, q + e / 2 * 8, k + column + 8 * n + e % 2,
                       log_sum[e / 2], delta[e / 2]);
    add_result_times<T, D, kKeys / 8>(grad, d, key);
    __syncthreads();
    if (k + kKeys < end) load_tile<T, D, kKeys, kThreads>(key, keys, k + kKeys);
    end_copies();
  }
  write_rows<T, D>(a.dquery + (static_cast<int64_t>(b) * a.queries * a.heads + h) * a.size,
                   static_cast<int64_t>(a.heads) * a.size, q, a.queries, a.size, grad, a.scale,
                   a.scale);
}

// kStages: tiles of queries that are on their way or in use.
template <class T, int D, int kQueries, int kStages>
__global__ void __launch_bounds__(kThreads) dkey_kernel(const __grid_constant__ Problem<T> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int kStride = tile_stride<T, D>, kTile = kQueries * kStride;
  T* key = reinterpret_cast<T*>(memory);
  T* value = key + kRows * kStride;
  T* queries = value + kRows * kStride;  // for each stage one of query and one of dout
  const Block block((a.keys + kRows - 1) / kRows, a.key_heads, false);
  const int b = block.b, kh = block.h, group = a.heads / a.key_heads;
  const int k = block.first + row_of_thread(), column = static_cast<int>(threadIdx.x) % 4 * 2;
  // Earlier queries take no part.
  const int begin = a.causal ? block.first / kQueries * kQueries : 0;
  const int tiles = begin < a.queries ? (a.queries - begin + kQueries - 1) / kQueries : 0;
  const int all = tiles * group;
  auto fetch = [&](int i) {
    if (i >= all) return end_copies();
    const int h = kh * group + i / tiles, first = begin + i % tiles * kQueries;
    T* to = queries + i % kStages * 2 * kTile;
    load_tile<T, D, kQueries, kThreads>(to, a.queries_of(b, h), first);
    load_tile<T, D, kQueries, kThreads>(to + kTile, a.dout_of(b, h), first);
    end_copies();
  };
  load_tile<T, D, kRows, kThreads>(key, a.keys_of(b, kh), block.first);
  load_tile<T, D, kRows, kThreads>(value, a.values_of(b, kh), block.first);
  fetch(0);
  float dkey[D / 8][4] = {}, dvalue[D / 8][4] = {};
  for (int i = 0; i < all; ++i) {
    if constexpr (kStages > 1) fetch(i + 1);
    wait_copies<kStages - 1>();
    __syncthreads();
    const int h = kh * group + i / tiles, q = begin + i % tiles * kQueries + column;
    const T* query = queries + i % kStages * 2 * kTile;
    const T* dout = query + kTile;
    const Scores<T> scores = a.scores(b, h);
    float s[kQueries / 8][4] = {}, d[kQueries / 8][4] = {};
    add_by_rows<T, D, kQueries / 8>(s, key, warp_row(), query);
    add_by_rows<T, D, kQueries / 8>(d, value, warp_row(), dout);
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int own = q + 8 * n + c;
        const bool there = own < a.queries;
        const float log_sum = there ? a.log_sum[a.sum_at(b, h) + own] : 0.0f;
        const float delta = there ? a.delta[a.sum_at(b, h) + own] : 0.0f;
        through_weight(s[n][c], d[n][c], scores, own, k, log_sum, delta);
        through_weight(s[n][c + 2], d[n][c + 2], scores, own, k + 8, log_sum, delta);
      }
    add_result_times<T, D, kQueries / 8>(dvalue, s, dout);
    add_result_times<T, D, kQueries / 8>(dkey, d, query);
    __syncthreads();
    if constexpr (kStages == 1) fetch(i + 1);
  }
  const int64_t row = static_cast<int64_t>(b) * a.keys * a.key_heads + kh;
  const int64_t stride = a.key_heads;
  write_rows<T, D>(a.dkey + row * a.size, stride * a.size, k, a.keys, a.size, dkey, a.scale,
                   a.scale);
  write_rows<T, D>(a.dvalue + row * a.value_size, stride * a.value_size, k, a.keys, a.value_size,
                   dvalue, 1.0f, 1.0f);
}

// --- the host's part ---

template <class T>
bool is_whole(const HeadMatrices& m, int64_t size) {
  constexpr int64_t kMany = kPack<T>;
  return aligned(m.data) && size % kMany == 0 && m.batch % kMany == 0 && m.row % kMany == 0 &&
         m.head % kMany == 0;
}

template <class T>
Problem<T> problem_of(const Attention& a) {
  Problem<T> p{};
  p.batch = static_cast<int>(a.batch);
  p.heads = static_cast<int>(a.heads);
  p.key_heads = static_cast<int>(a.key_heads);
  p.queries = static_cast<int>(a.queries);
  p.keys = static_cast<int>(a.keys);
  p.size = static_cast<int>(a.size);
  p.value_size = static_cast<int>(a.value_size);
  p.causal = a.causal;
  p.scale = static_cast<float>(a.scale);
  p.factor = static_cast<float>(a.factor);
  p.query = a.query;
  p.key = a.key;
  p.value = a.value;
  p.whole_query = is_whole<T>(a.query, a.size);
  p.whole_key = is_whole<T>(a.key, a.size);
  p.whole_value = is_whole<T>(a.value, a.value_size);
  p.mask = a.mask;
  p.mask_is_bool = a.mask_is_bool;
  std::copy_n(a.mask_strides, 4, p.mask_strides);
  p.kept = a.kept;
  return p;
}

// f(Type<T>{}, D) with the width of tiles.
template <class F>
void with_tiles(const Attention& a, F&& f) {
  auto by_size = [&](auto type) {
    if (std::max(a.size, a.value_size) <= 64)
      f(type, std::integral_constant<int, 64>());
    else
      f(type, std::integral_constant<int, 128>());
  };
  switch (a.type) {
    case DType::float16:
      return by_size(Type<half_t>{});
    case DType::bfloat16:
      return by_size(Type<bf16_t>{});
    case DType::float32:
      return by_size(Type<float>{});
    default:
      fail_dtype("tiled_attention", a.type);
  }
}

template <class T>
void launch(cudaStream_t stream, void (*kernel)(Problem<T>), int64_t rows, int64_t heads,
            int tile_rows, int stride, const Problem<T>& p) {
  const int64_t blocks = (rows + kRows - 1) / kRows * heads * p.batch;
  ARGOSY_CHECK(blocks <= INT32_MAX, not_implemented)
      << "[tiled_attention] more than 2^31 tiles. Do this: use smaller batches.";
  const size_t bytes = static_cast<size_t>(tile_rows) * static_cast<size_t>(stride) * sizeof(T);
  ARGOSY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)));
  kernel<<<static_cast<unsigned>(blocks), kThreads, bytes, stream>>>(p);
  ARGOSY_CUDA_LAUNCHED();
}

// Other operands' rows in a tile, and how many tiles are in memory: 64 KiB and more of float32
// leave no room for more.
template <class T>
inline constexpr int kOthers = sizeof(T) == 2 ? 64 : 32;
template <class T>
inline constexpr int kStagesOf = sizeof(T) == 2 ? 2 : 1;

}  // namespace

void tiled_attention(cudaStream_t stream, const Attention& a, void* out, float* log_sum) {
  with_tiles(a, [&]<class T, class Width>(Type<T>, Width) {
    constexpr int D = Width::value, kKeys = kOthers<T>;
    Problem<T> p = problem_of<T>(a);
    p.out = static_cast<T*>(out);
    p.log_sum = log_sum;
    launch<T>(stream, forward_kernel<T, D, kKeys>, a.queries, a.heads, kRows + 2 * kKeys,
              tile_stride<T, D>, p);
  });
}

void tiled_attention_grad(cudaStream_t stream, const Attention& a, const void* out,
                          const float* log_sum, const void* dout, void* dquery, void* dkey,
                          void* dvalue) {
  const int64_t rows = a.batch * a.heads * a.queries;
  const Scratch delta(stream, static_cast<size_t>(rows) * sizeof(float));
  with_tiles(a, [&]<class T, class Width>(Type<T>, Width) {
    constexpr int D = Width::value, kStride = tile_stride<T, D>;
    constexpr int kKeys = D == 64 ? kOthers<T> : 32, kQueries = 32, kStages = kStagesOf<T>;
    Problem<T> p = problem_of<T>(a);
    p.out = const_cast<T*>(static_cast<const T*>(out));
    p.log_sum = const_cast<float*>(log_sum);
    p.dout = static_cast<const T*>(dout);
    p.whole_out = aligned(dout) && a.value_size % kPack<T> == 0;
    p.delta = delta.data<float>();
    p.dquery = static_cast<T*>(dquery);
    p.dkey = static_cast<T*>(dkey);
    p.dvalue = static_cast<T*>(dvalue);
    delta_kernel<T><<<grid(rows, kThreads / kWarp), kThreads, 0, stream>>>(p);
    ARGOSY_CUDA_LAUNCHED();
    launch<T>(stream, dkey_kernel<T, D, kQueries, kStages>, a.keys, a.key_heads,
              2 * kRows + 2 * kQueries * kStages, kStride, p);
    launch<T>(stream, dquery_kernel<T, D, kKeys>, a.queries, a.heads, 2 * kRows + 2 * kKeys,
              kStride, p);
  });
}

}  // namespace argosy::cuda
