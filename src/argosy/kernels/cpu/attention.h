#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Scaled dot-product attention that never holds all scores: blocks of queries meet blocks of keys,
// with a running maximum and sum for each query; the backward pass makes the scores of a block
// again from the logarithm of that sum (Dao et al., arXiv:2205.14135). Results do not depend on the
// number of threads.
namespace argosy::cpu {

// One matrix [length, size] for each batch and head: rows are `row` elements apart, numbers in a
// row are consecutive.
struct HeadMatrices {
  const void* data = nullptr;
  int64_t batch = 0, row = 0, head = 0;
};

struct Attention {
  DType type = DType::float32;  // floating; 16-bit ones compute in float32
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
};

// out [batch, queries, heads, value_size]; log_sum [batch, heads, queries] of the computing type:
// of the exponentials of a query's scores. A query that no key takes part with gives NaN.
ARGOSY_API void attention(const Attention& a, void* out, void* log_sum);

// out and dout [batch, queries, heads, value_size]; gradients in the order of out: dquery
// [batch, queries, heads, size], dkey [batch, keys, key_heads, size], dvalue likewise.
ARGOSY_API void attention_grad(const Attention& a, const void* out, const void* log_sum,
                               const void* dout, void* dquery, void* dkey, void* dvalue);

}  // namespace argosy::cpu
