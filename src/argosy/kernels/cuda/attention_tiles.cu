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
class Scores {
 public:
  int queries, keys;
  bool causal;
  float scale;  // times log2(e): weights are powers of 2
  const bool* taken;
  const T* added;
  int64_t row, column;  // strides of either
  const uint8_t* kept;
  int64_t first;  // the number of the first weight
  float factor;
  bool whole_bytes;  // bits of a query begin at a byte
  const int2* spans;

  // Four products become exponents of weights: those of queries q and q + 8 with keys k and k + 1,
  // or, kTurned, of keys k and k + 8 with queries q and q + 1. kEdge: not all are there, or take
  // part.
  template <bool kTurned, bool kEdge>
  __device__ __forceinline__ void exponents(float (&c)[4], int q, int k) const {
    constexpr int kNextQuery = kTurned ? 1 : 8, kNextKey = kTurned ? 8 : 1;
#pragma unroll
    for (int e = 0; e < 4; ++e) c[e] *= scale;
    if (taken || added) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int own_k = k + i * kNextKey;
        if (kEdge && own_k >= keys) continue;
        const int64_t at = q * row + own_k * column;
        float first = 0, second = 0;
        if (!kEdge || q < queries) first = second = term(at);
        if (row && (!kEdge || q + kNextQuery < queries)) second = term(at + kNextQuery * row);
        with_term(c[kTurned ? 2 * i : i], first);
        with_term(c[kTurned ? 2 * i + 1 : i + 2], second);
      }
    }
    if constexpr (kEdge) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int own_q = q + (kTurned ? e % 2 : e / 2) * kNextQuery;
        const int own_k = k + (kTurned ? e / 2 : e % 2) * kNextKey;
        bool there = own_q < queries && own_k < keys && !(causal && own_k > own_q);
        if (there && spans) there = own_k >= spans[own_q].x && own_k < spans[own_q].y;
        if (!there) c[e] = -INFINITY;
      }
    }
  }
  // By what these four weights grow: 0 where one is dropped.
  template <bool kTurned>
  __device__ __forceinline__ void growths(float (&g)[4], int q, int k) const {
    constexpr int kNextQuery = kTurned ? 1 : 8;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int own_q = q + j * kNextQuery;
      const int64_t i = first + static_cast<int64_t>(own_q) * keys + k;
      bool one = false, other = false;
      if (own_q < queries && k < keys) {
        if (whole_bytes && !kTurned) {  // k is even
          const int bits = kept[i >> 3] >> (k & 7);
          one = bits & 1;
          other = bits & 2;
        } else {
          one = is_kept(i);
          if (k + (kTurned ? 8 : 1) < keys) other = is_kept(i + (kTurned ? 8 : 1));
        }
      }
      g[kTurned ? j : 2 * j] = one ? factor : 0.0f;
      g[kTurned ? j + 2 : 2 * j + 1] = other ? factor : 0.0f;
    }
  }

 private:
  __device__ __forceinline__ bool is_kept(int64_t i) const {
    return kept[i >> 3] >> (i & 7) & 1;
  }
  // What takes no part may be anything, infinity and NaN included.
  __device__ __forceinline__ void with_term(float& score, float t) const {
    score = taken && t != 0 ? -INFINITY : score + t;
  }
  // What is added to a score, in the unit of exponents.
  __device__ __forceinline__ float term(int64_t at) const {
    if (taken) return taken[at] ? 0.0f : -INFINITY;
    return load(added[at]) * kLog2e;
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
  const int2 *key_spans, *query_spans;
  T* out;
  float* log_sum;
  const T* dout;
  float* delta;
  T *dquery, *dkey, *dvalue;

  __device__ Scores<T> scores(int b, int h) const {
    const int64_t at = b * mask_strides[0] + h * mask_strides[1];
    Scores<T> s;
    s.queries = queries;
    s.keys = keys;
    s.causal = causal;
    s.scale = scale * kLog2e;
    s.taken = nullptr;
    s.added = nullptr;
    s.row = mask_strides[2];
    s.column = mask_strides[3];
    s.kept = kept;
    s.first = (static_cast<int64_t>(b) * heads + h) * queries * static_cast<int64_t>(keys);
    s.factor = factor;
    s.whole_bytes = keys % 8 == 0;
    s.spans = key_spans;
    if (mask && mask_is_bool) s.taken = static_cast<const bool*>(mask) + at;
    if (mask && !mask_is_bool) s.added = static_cast<const T*>(mask) + at;
    return s;
  }
  // Whether a tile has places that are not there, or keys after their queries.
  __device__ bool is_edge(int q, int rows, int k, int columns) const {
    return key_spans || q + rows > queries || k + columns > keys || (causal && k + columns - 1 > q);
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

// What the rows of a block take part with, of `count` others, from a multiple of kStep on.
template <int kStep>
__device__ __forceinline__ int2 all_of(const int2* spans, int first, int rows, int count) {
  if (!spans) return {0, count};
  int2 all{count, 0};
  const int last = min(first + kRows, rows);
  for (int r = first; r < last; ++r) {
    const int2 own = spans[r];
    if (own.x >= own.y) continue;
    all.x = min(all.x, own.x);
    all.y = max(all.y, own.y);
  }
  all.x = all.x / kStep * kStep;
  return all;
}

__device__ __forceinline__ int row_of_thread() {
  return static_cast<int>(threadIdx.x) / kWarp * 16 + static_cast<int>(threadIdx.x) % kWarp / 4;
}
__device__ __forceinline__ int warp_row() {
  return static_cast<int>(threadIdx.x) / kWarp * 16;
}

// --- forward ---

// 2^x; results below the least normal number are 0.
__device__ __forceinline__ float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Products of a tile, with the running maximum and sum of their exponents: makes weights of them,
// and gives by what all that was summed before shrinks.
template <class T, int kGroups>
__device__ __forceinline__ void to_weights(float (&s)[kGroups][4], const Scores<T>& scores, int q,
                                           int k, bool edge, float (&high)[2], float (&sum)[2],
                                           float (&shrink)[2]) {
  if (edge) {
#pragma unroll
    for (int n = 0; n < kGroups; ++n) scores.template exponents<false, true>(s[n], q, k + 8 * n);
  } else {
#pragma unroll
    for (int n = 0; n < kGroups; ++n) scores.template exponents<false, false>(s[n], q, k + 8 * n);
  }
  float most[2] = {high[0], high[1]}, base[2];
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) most[e / 2] = fmaxf(most[e / 2], s[n][e]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    most[i] = row_reduce(most[i], [](float a, float b) { return fmaxf(a, b); });
    base[i] = most[i] == -INFINITY ? 0.0f : most[i];
    shrink[i] = power(high[i] - base[i]);
    high[i] = most[i];
    sum[i] *= shrink[i];
  }
#pragma unroll
  for (int n = 0; n < kGroups; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = power(s[n][e] - base[e / 2]);
      sum[e / 2] += s[n][e];
    }
    if (!scores.kept) continue;
    float growth[4];
    scores.template growths<false>(growth, q, k + 8 * n);
#pragma unroll
    for (int e = 0; e < 4; ++e) s[n][e] *= growth[e];
  }
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
  const int2 span = all_of<kKeys>(a.key_spans, block.first, a.queries, a.keys);
  const int end = a.causal ? min(span.y, block.first + kRows) : span.y;
  const int q = block.first + row_of_thread(), column = static_cast<int>(threadIdx.x) % 4 * 2;

  load_tile<T, D, kRows, kThreads>(query, a.queries_of(b, h), block.first);
  load_tile<T, D, kKeys, kThreads>(key, keys, span.x);
  end_copies();
  load_tile<T, D, kKeys, kThreads>(value, values, span.x);
  end_copies();
  float out[D / 8][4] = {};
  float high[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  for (int k = span.x; k < end; k += kKeys) {
    wait_copies<1>();
    __syncthreads();  // the keys are there
    float s[kKeys / 8][4] = {};
    add_by_rows<T, D, kKeys / 8>(s, query, warp_row(), key);
    __syncthreads();  // and read
    if (k + kKeys < end) load_tile<T, D, kKeys, kThreads>(key, keys, k + kKeys);
    end_copies();
    float shrink[2];
    to_weights(s, scores, q, k + column, a.is_edge(block.first, kRows, k, kKeys), high, sum,
               shrink);
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
    // Without a key the sum is 0, and the result no number.
    const bool none = a.key_spans && sum[i] == 0;
    inverse[i] = none ? 0.0f : 1 / sum[i];
    if (column == 0 && q + 8 * i < a.queries)
      a.log_sum[a.sum_at(b, h) + q + 8 * i] = none ? 0.0f : (high[i] + log2f(sum[i])) * kLn2;
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

// Of products s of query and key, and d of dout and value, makes the weights that were kept and the
// gradients of the scores; four of each, as Scores has them.
template <bool kTurned, class T>
__device__ __forceinline__ void through_weights(float (&s)[4], float (&d)[4],
                                                const Scores<T>& scores, int q, int k, bool edge,
                                                const float (&log_sum)[2],
                                                const float (&delta)[2]) {
  if (edge)
    scores.template exponents<kTurned, true>(s, q, k);
  else
    scores.template exponents<kTurned, false>(s, q, k);
  float growth[4] = {1, 1, 1, 1};
  if (scores.kept) scores.template growths<kTurned>(growth, q, k);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const int i = kTurned ? e % 2 : e / 2;
    const float weight = power(s[e] - log_sum[i]);
    s[e] = weight * growth[e];
    d[e] = weight * (d[e] * growth[e] - delta[i]);
  }
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
  const int2 span = all_of<kKeys>(a.key_spans, block.first, a.queries, a.keys);
  const int end = a.causal ? min(span.y, block.first + kRows) : span.y;
  const int q = block.first + row_of_thread(), column = static_cast<int>(threadIdx.x) % 4 * 2;

  load_tile<T, D, kRows, kThreads>(query, a.queries_of(b, h), block.first);
  load_tile<T, D, kRows, kThreads>(dout, a.dout_of(b, h), block.first);
  load_tile<T, D, kKeys, kThreads>(value, values, span.x);
  end_copies();
  load_tile<T, D, kKeys, kThreads>(key, keys, span.x);
  end_copies();
  float log_sum[2], delta[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool there = q + 8 * i < a.queries;
    log_sum[i] = there ? a.log_sum[a.sum_at(b, h) + q + 8 * i] * kLog2e : 0.0f;
    delta[i] = there ? a.delta[a.sum_at(b, h) + q + 8 * i] : 0.0f;
  }
  float grad[D / 8][4] = {};
  for (int k = span.x; k < end; k += kKeys) {
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
    const bool edge = a.is_edge(block.first, kRows, k, kKeys);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
      through_weights<false>(s[n], d[n], scores, q, k + column + 8 * n, edge, log_sum, delta);
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
  const int2 span = all_of<kQueries>(a.query_spans, block.first, a.keys, a.queries);
  const int begin = a.causal ? block.first / kQueries * kQueries : span.x;
  const int tiles = begin < span.y ? (span.y - begin + kQueries - 1) / kQueries : 0;
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
    const bool edge = a.is_edge(q - column, kQueries, block.first, kRows);
    const int64_t sums = a.sum_at(b, h);
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      float log_sum[2], delta[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int own = q + 8 * n + c;
        log_sum[c] = own < a.queries ? a.log_sum[sums + own] * kLog2e : 0.0f;
        delta[c] = own < a.queries ? a.delta[sums + own] : 0.0f;
      }
      through_weights<true>(s[n], d[n], scores, q + 8 * n, k, edge, log_sum, delta);
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
  p.key_spans = a.key_spans;
  p.query_spans = a.query_spans;
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
