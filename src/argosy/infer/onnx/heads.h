#pragma once

#include <optional>

#include "argosy/infer/onnx/node.h"

// Heads of attention, [batch, heads, length, size], which several operators have in common.
namespace argosy::infer::onnx {

// [batch, length, heads * size] as [batch, heads, length, size], and back.
Tensor with_heads(const Node& n, const Tensor& x, int64_t heads);
Tensor without_heads(const Tensor& x);
// Each head `times` times, one copy beside the other.
Tensor repeated_heads(const Tensor& x, int64_t times);

// What keeps queries from seeing keys; broadcasts to [batch, heads, queries, keys].
struct Bias {
  Tensor allowed;  // bool, undefined: everything
  Tensor added;    // to the scores, undefined: nothing
  void allow(const Tensor& t);
  void add(const Tensor& t);
};

struct Attended {
  Tensor y;
  // Products of queries and keys, the same within `cap`, with the bias, and after softmax.
  Tensor products, capped, biased, weights;
};
// softmax(q k^T scale + bias) v. cap > 0: scores are bent to stay below it. precision: that of
// softmax, where it is another.
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Bias& bias,
                double cap = 0, std::optional<DType> precision = {});

}  // namespace argosy::infer::onnx
