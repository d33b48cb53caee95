#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Scaled dot-product attention that keeps no scores: by cuDNN's fused kernels, or by own ones,
// which also take float32, masks and dropout.
namespace argosy::cuda {

// One matrix [length, size] for each batch and head; distances in elements, numbers in a row are
// consecutive. For cuDNN addresses and distances are multiples of 16 bytes.
struct HeadMatrices {
  const void* data = nullptr;
  int64_t batch = 0, row = 0, head = 0;
};

// REQUIRES: no size is 0. For cuDNN type has 16 bits, size and value_size are multiples of 8 and at
// most 256, and there is no mask and no dropout.
struct Attention {
  DType type = DType::float16;  // bfloat16, float32; computes in float32
  // heads: a multiple of key_heads; heads of one key head are neighbours.
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0;
  int64_t size = 0, value_size = 0;
  double scale = 1;
  bool causal = false;  // query i takes part with keys up to i
  HeadMatrices query, key, value;
  // Of the scores [batch, heads, queries, keys], may be null. bool: those that take part; else of
  // `type`, to be added.
  const void* mask = nullptr;
  bool mask_is_bool = false;
  int64_t mask_strides[4] = {};  // in elements; 0 where it is the same for all
  // Of the weights in that order (kernels/cpu/bits.h), may be null; those kept are multiplied by
  // `factor`.
  const uint8_t* kept = nullptr;
  double factor = 1;
  // For own kernels, may be null: query i takes part with keys from key_spans[i].x on, below .y,
  // and no others than those of query_spans[j] with key j. Without a key a query gives 0, not NaN.
  const int2 *key_spans = nullptr, *query_spans = nullptr;
};

// out [batch, queries, heads, value_size]; log_sum [batch, heads, queries]: the natural logarithm
// of the sum of exponentials of each query's scores. False, with nothing enqueued, where cuDNN has
// no kernel for it; the first call of a problem finds that out, and takes a while.
bool attention(cudaStream_t stream, const Attention& a, void* out, float* log_sum);

// out and dout [batch, queries, heads, value_size]; gradients likewise: dquery [batch, queries,
// heads, size], dkey [batch, keys, key_heads, size], dvalue. Sums of dquery are in no fixed order,
// unless FLAGS_cudnn_deterministic.
bool attention_grad(cudaStream_t stream, const Attention& a, const void* out, const float* log_sum,
                    const void* dout, void* dquery, void* dkey, void* dvalue);

// The same by own kernels, which take all of Attention with sizes of heads up to kMostTiledSize.
// float32 is multiplied as sums of two TF32 numbers. The order of all sums is fixed. A query that
// no key takes part with gives NaN.
inline constexpr int64_t kMostTiledSize = 128;
void tiled_attention(cudaStream_t stream, const Attention& a, void* out, float* log_sum);
void tiled_attention_grad(cudaStream_t stream, const Attention& a, const void* out,
                          const float* log_sum, const void* dout, void* dquery, void* dkey,
                          void* dvalue);

// --- of each sequence of a packed batch ---

// query [rows, heads, size], key [key_rows, key_heads, size], value likewise, without gaps;
// sequence i takes the rows from starts_q[i] to starts_q[i + 1], starts_k for keys. Bounds outside
// of the rows count as the first or the last. REQUIRES: no size is 0; size and value_size are
// multiples of 16 and at most 128; no operand has 2^31 elements.
struct PackedAttention {
  DType type = DType::float16;
  int64_t sequences = 0, rows = 0, key_rows = 0;
  int64_t heads = 0, key_heads = 0, size = 0, value_size = 0;
  double scale = 1;
  bool causal = false;  // row i of a sequence takes part with its keys up to i
  const void *query = nullptr, *key = nullptr, *value = nullptr;
  DType starts_type = DType::int32;  // or int64
  const void *starts_q = nullptr, *starts_k = nullptr;
};

// out [rows, heads, value_size], 0 where a row has no keys; log_sum [rows, heads], anything there.
bool packed_attention(cudaStream_t stream, const PackedAttention& a, void* out, float* log_sum);
bool packed_attention_grad(cudaStream_t stream, const PackedAttention& a, const void* out,
                           const float* log_sum, const void* dout, void* dquery, void* dkey,
                           void* dvalue);

// What cuDNN reads of the sequences, for `most` of which only the first exist: lengths of query and
// key [most], both 0 where one is, then for each of the 5 tensors how far each sequence begins from
// its first element [most + 1], `widths` being the elements of a row. Lists are places_step apart.
inline constexpr int kPackedTensors = 5;
struct PackedPlaces {
  DType starts_type;
  const void *starts_q, *starts_k;
  int64_t sequences, most, rows, key_rows;
  int64_t widths[kPackedTensors];  // query, key, value, out, log_sum
};
// Spans of a packed batch, of int32 or int64 starts: of_queries [rows], of_keys [key rows].
struct PackedStarts {
  const void* data;
  DType type;
};
void packed_spans(cudaStream_t stream, PackedStarts starts_q, PackedStarts starts_k,
                  int64_t sequences, int64_t rows, int64_t key_rows, bool causal, int2* of_queries,
                  int2* of_keys);

constexpr int64_t places_step(int64_t most) {
  return (most + 4) / 4 * 4;
}
void packed_places(cudaStream_t stream, const PackedPlaces& p, int32_t* to);

}  // namespace argosy::cuda
