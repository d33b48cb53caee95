#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Scaled dot-product attention by cuDNN's fused kernels.
namespace argosy::cuda {

// One matrix [length, size] for each batch and head; distances in elements, numbers in a row are
// consecutive. Addresses and distances are multiples of 16 bytes.
struct HeadMatrices {
  const void* data = nullptr;
  int64_t batch = 0, row = 0, head = 0;
};

// REQUIRES: no size is 0; size and value_size are multiples of 8 and at most 256.
struct Attention {
  DType type = DType::float16;  // or bfloat16; computes in float32
  // heads: a multiple of key_heads; heads of one key head are neighbours.
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0;
  int64_t size = 0, value_size = 0;
  double scale = 1;
  bool causal = false;  // query i takes part with keys up to i
  HeadMatrices query, key, value;
  // Of `type`, added to the scores [batch, heads, queries, keys]; may be null. Its sizes are theirs
  // or 1; its address is a multiple of 16 bytes.
  const void* mask = nullptr;
  int64_t mask_sizes[4] = {}, mask_strides[4] = {};
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

}  // namespace argosy::cuda
