#include "argosy/infer/onnx/heads.h"

#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"
#include "argosy/ops/activation/activation.h"

namespace argosy::infer::onnx {

Tensor with_heads(const Node& n, const Tensor& x, int64_t heads) {
  n.expect(heads > 0 && x.rank() == 3 && (x.dim(2) < 0 || x.dim(2) % heads == 0),
           "the number of heads does not divide the last dimension");
  op::IntArray shape;
  ops::push_size(shape, x, 0);
  ops::push_size(shape, x, 1);
  push(shape, heads);
  push(shape, x.dim(2) < 0 ? -1 : x.dim(2) / heads);
  return ops::transpose(ops::reshape(x, shape), {0, 2, 1, 3});
}

Tensor without_heads(const Tensor& x) {
  return ops::flatten(ops::transpose(x, {0, 2, 1, 3}), 2, 3);
}

Tensor repeated_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  op::IntArray shape = shape_of(x), apart;
  for (size_t i = 0; i < 2; ++i) push(apart, shape, i);
  push(apart, times);
  for (size_t i = 2; i < 4; ++i) push(apart, shape, i);
  return ops::flatten(ops::expand(ops::unsqueeze(x, op::IntArray{2}), apart), 1, 2);
}

void Bias::allow(const Tensor& t) {
  allowed = allowed.defined() ? ops::logical_and(allowed, t) : t;
}
void Bias::add(const Tensor& t) {
  added = added.defined() ? ops::add(added, t) : t;
}

Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Bias& bias,
                double cap, std::optional<DType> precision) {
  Attended a;
  const double root = std::sqrt(scale);
  Tensor scores = ops::matmul(ops::scale(q, root), ops::scale(k, root), false, true);
  a.products = scores;
  if (cap > 0) scores = ops::scale(ops::tanh(ops::scale(scores, 1 / cap)), cap);
  a.capped = scores;
  if (bias.added.defined()) scores = ops::add(scores, as(bias.added, scores.dtype()));
  if (bias.allowed.defined())
    scores =
        ops::where(bias.allowed, scores, number(-std::numeric_limits<double>::infinity(), scores));
  a.biased = scores;
  const DType dtype = scores.dtype();
  Tensor weights = ops::softmax(precision ? as(scores, *precision) : scores, -1);
  // A query that sees no key gives zeros.
  if (bias.allowed.defined() || bias.added.defined())
    weights = ops::where(ops::isnan(weights), number(0, weights), weights);
  a.weights = as(weights, dtype);
  a.y = ops::matmul(a.weights, v);
  return a;
}

}  // namespace argosy::infer::onnx
