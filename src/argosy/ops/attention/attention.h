#pragma once

#include <limits>

#include "argosy/op/define.h"

// Attention of query [batch, length, heads, dim], key and value [batch, key length, key heads, dim]
// in parts, from other ops: the meaning of the tiled op, its gradient where that is to be
// differentiated again, and the only form that has the weights. Sizes may be unknown.
namespace argosy::ops {

// How scores [batch, heads, length, key length] come about.
struct ScoreAttrs {
  bool is_causal = false;
  double scale = 0;  // 0: 1 / sqrt(dim)
};

// Of fill_future.
struct FutureAttrs {
  double value = -std::numeric_limits<double>::infinity();
};
ARGOSY_ATTRS(FutureAttrs, value)

struct VarlenMaskAttrs {
  bool is_causal = false;
};
ARGOSY_ATTRS(VarlenMaskAttrs, is_causal)
// Of tiled_attention and its gradient.
struct TiledAttrs {
  bool is_causal = false;
  double scale = 0;   // 0: 1 / sqrt(dim)
  double factor = 1;  // on weights that `bits` keep
};
ARGOSY_ATTRS(TiledAttrs, is_causal, scale, factor)

// Of packed_attention and its gradient.
struct PackedAttrs {
  bool is_causal = false;  // row i of a sequence takes part with its keys up to i
  double scale = 0;        // 0: 1 / sqrt(size)
};
ARGOSY_ATTRS(PackedAttrs, is_causal, scale)

// Raises for operands that do not fit.
void check_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v);

// mask (may be undefined): bool, or numbers to be added.
Tensor attention_scores(const Tensor& q, const Tensor& k, const Tensor& mask, const ScoreAttrs& a);
// weights times value [batch, length, heads, dim].
Tensor attention_mix(const Tensor& weights, const Tensor& k, const Tensor& v);

// Gradients of softmax(scores) value by query, key, value and mask (undefined if there is none, and
// a bool one's). bits (may be undefined): dropout's choices, those kept grow by factor.
Tensors attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                            const Tensor& bits, const Tensor& dy, const ScoreAttrs& a,
                            double factor);

// Those of attention_gradients' results for query, key and value: by query, key, value, mask and
// dy, from `d`, gradients by these three results.
Tensors attention_second_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& mask, const Tensor& bits, const Tensor& dy,
                                   const Tensor (&d)[3], const ScoreAttrs& a, double factor);

// The op that keeps no scores; bits and factor as above.
Tensor tiled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                       const Tensor& bits, const ScoreAttrs& a, double factor);
struct AttentionBitsAttrs {
  op::Scalar p = 0.5;
};
ARGOSY_ATTRS(AttentionBitsAttrs, p)
// Dropout's choices for weights, as bits.
Tensor attention_bits(const Tensor& q, const Tensor& k, double p);

}  // namespace argosy::ops
