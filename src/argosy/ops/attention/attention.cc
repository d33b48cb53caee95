#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/attention/attention.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Scaled dot-product attention from other ops.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::Inputs;
using op::KernelFrame;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// --- the causal mask ---

void future_infer(op::InferContext& c, const FutureAttrs&) {
  ARGOSY_CHECK(c.in[0].rank() >= 2, invalid_argument)
      << "[fill_future] x: expected queries and keys as its last two dimensions, got " << c.in[0]
      << ". Do this: add dimensions with unsqueeze.";
}

void future_run(KernelFrame& f, const FutureAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  const int64_t grain = std::max<int64_t>(1, 32768 / columns);
  dispatch_floating(x.dtype(), [&]<class T>(T) {
    const T value = static_cast<T>(static_cast<float>(a.value));
    parallel_for(x.numel() / columns, grain, [&](int64_t r, int64_t last) {
      for (; r < last; ++r) {
        const int64_t kept = std::min(columns, r % rows + 1);
        const T* from = x.data<T>() + r * columns;
        T* to = y.data<T>() + r * columns;
        std::copy_n(from, kept, to);
        std::fill(to + kept, to + columns, value);
      }
    });
  });
}

Tensors future_grad(const GradCall& c, const FutureAttrs&) {
  const FutureAttrs zero{0};
  const Tensor dy = c.dy();
  return std::move(op::dispatch(c.op, Inputs({&dy, 1}), &zero)[0]);
}

ARGOSY_OP(fill_future, FutureAttrs)
    .doc("x [.., queries, keys] with `value` where the key comes after the query.")
    .shape("x [*s] -> [*s]")
    .input("x", kFloating)
    .output("out")
    .infer(future_infer)
    .kernel("rows", future_run)
    .gradient(future_grad)
    .done();

// --- parts ---

// [batch, length, heads, dim] to [batch, heads, length, dim], and back.
Tensor heads_first(const Tensor& x) {
  return transpose(x, {0, 2, 1, 3});
}

// x times `factor`, or 1 / sqrt(dim of q).
Tensor scaled(const Tensor& x, const Tensor& q, double factor) {
  const int64_t n = q.dim(3);
  if (factor == 0 && n < 0) {
    const DType wide = q.dtype() == DType::float64 ? DType::float64 : DType::float32;
    return multiply(x, cast(rsqrt(size_of(q, 3, wide)), q.dtype()));
  }
  return scale(x, factor == 0 ? 1 / std::sqrt(static_cast<double>(n)) : factor);
}

// Has each head of x [batch, heads, ..] a key head of its own, as far as is known?
bool has_own_keys(const Tensor& x, const Tensor& k) {
  return x.dim(1) >= 0 && x.dim(1) == k.dim(2);
}

// x [batch, heads, m, n] as [batch, key heads, heads for each, m, n].
Tensor grouped(const Tensor& x, const Tensor& k) {
  op::IntArray shape{0};
  push_size(shape, k, 2);
  shape.values.push_back(-1);
  push_size(shape, x, 2);
  push_size(shape, x, 3);
  return reshape(x, shape);
}

// For each head: x [batch, heads, m, n] times y [batch, key heads, ..].
Tensor times_key(const Tensor& x, const Tensor& y, const Tensor& k, bool transpose_y) {
  if (has_own_keys(x, k)) return matmul(x, y, false, transpose_y);
  return flatten(matmul(grouped(x, k), unsqueeze(y, {2}), false, transpose_y), 1, 2);
}

// For each key head the sum over its heads: x^T y.
Tensor onto_key(const Tensor& x, const Tensor& y, const Tensor& k) {
  if (has_own_keys(x, k)) return matmul(x, y, true);
  return sum(matmul(grouped(x, k), grouped(y, k), true), {2});
}

Tensor add_mask(const Tensor& scores, const Tensor& mask) {
  if (mask.dtype() != DType::bool_) return add(scores, cast(mask, scores.dtype()));
  return where(mask, scores, constant(kMinusInfinity, scores.dtype(), scores.place()));
}

// --- attention ---

struct AttentionAttrs {
  double dropout_p = 0;
  bool is_causal = false;
  double scale = 0;  // 0: 1 / sqrt(head_dim)
  bool return_weights = false;
};
ARGOSY_ATTRS(AttentionAttrs, dropout_p, is_causal, scale, return_weights)

// Is the mask no larger than the scores on any axis?
bool mask_fits(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (!mask.defined()) return true;
  const int64_t sizes[] = {q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
  for (int i = 0; i < mask.rank(); ++i) {
    const int64_t size = i < 4 ? sizes[3 - i] : 1, own = mask.dim(-1 - i);
    if (i >= 4 || (own != 1 && own >= 0 && size >= 0 && own != size)) return false;
  }
  return true;
}

Tensors attention(const Inputs& in, const AttentionAttrs& a) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &mask = in[3];
  check_attention("scaled_dot_product_attention", q, k, v);
  const ScoreAttrs form{a.is_causal, a.scale};
  if (!a.return_weights && mask_fits(mask, q, k)) {
    Tensor own = mask, bits;
    if (mask.defined() && mask.dtype() != DType::bool_) own = cast(mask, q.dtype());
    if (a.dropout_p > 0) bits = attention_bits(q, k, a.dropout_p);
    return tiled_attention(q, k, v, own, bits, form, upscale_factor(a.dropout_p));
  }
  Tensor weights = softmax(attention_scores(q, k, mask, form), -1);
  if (a.dropout_p > 0) weights = dropout(weights, a.dropout_p, true);
  Tensors out{attention_mix(weights, k, v)};
  if (a.return_weights) out.push_back(weights);
  return out;
}

ARGOSY_OP(scaled_dot_product_attention, AttentionAttrs)
    .doc(
        "softmax(query key^T scale + mask) value for every head; with return_weights also the "
        "weights [batch, heads, length, key length]. mask: bool (True takes part) or numbers to "
        "add. is_causal: query i takes part with keys up to i.")
    .shape(
        "query [b,m,h,d], key [b,l,h,d], value [b,l,h,e], attn_mask [*k] -> [b,m,h,e], .. [*w'] | "
        "query [b,m,h,d], key [b,l,g,d], value [b,l,g,e], attn_mask [*k] -> [b,m,h,e], .. [*w']")
    .paper("1706.03762")
    .input("query", kFloating)
    .input("key", kFloating)
    .input("value", kFloating)
    .optional_input("attn_mask")
    .output("out")
    .list_output("weights")
    .compose(attention)
    .amp(op::Amp::lower)
    .done();

}  // namespace

void check_attention(const char* op, const Tensor& q, const Tensor& k, const Tensor& v) {
  auto same = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool fits = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  if (fits) {
    const int64_t heads = q.dim(2), groups = k.dim(2);
    fits = same(q.dim(0), k.dim(0)) && same(k.dim(0), v.dim(0)) && same(k.dim(1), v.dim(1)) &&
           same(groups, v.dim(2)) && same(q.dim(3), k.dim(3)) &&
           (heads < 0 || groups < 0 || (groups > 0 && heads % groups == 0));
  }
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << op
      << "] query must be [batch, length, heads, head_dim], key and value [batch, key length, key "
         "heads, head_dim] with heads a multiple of key heads: got "
      << q << ", " << k << " and " << v << ". Do this: check the order of the axes.";
  ARGOSY_CHECK(q.dtype() == k.dtype() && k.dtype() == v.dtype(), invalid_argument)
      << '[' << op << "] query, key and value must have one dtype: got " << q << ", " << k
      << " and " << v << ". Do this: cast them with .astype(..).";
}

Tensor attention_scores(const Tensor& q, const Tensor& k, const Tensor& mask, const ScoreAttrs& a) {
  Tensor scores = times_key(scaled(heads_first(q), q, a.scale), heads_first(k), k, true);
  if (mask.defined()) scores = add_mask(scores, mask);
  return a.is_causal ? fill_future_op(scores) : scores;
}

Tensor attention_mix(const Tensor& weights, const Tensor& k, const Tensor& v) {
  return heads_first(times_key(weights, heads_first(v), k, false));
}

namespace {

// The dropped and grown form of weights and of their gradients.
Tensor kept(const Tensor& x, const Tensor& bits, double factor) {
  return bits.defined() ? apply_kept_bits(x, bits, factor) : x;
}

// What softmax with result y makes of the gradient d.
Tensor through_softmax(const Tensor& y, const Tensor& d) {
  return multiply(y, subtract(d, sum(multiply(d, y), {-1}, true)));
}

Tensor onto_mask(const Tensor& dscores, const Tensor& mask) {
  if (!mask.defined() || mask.dtype() == DType::bool_) return {};
  return cast(sum_like(dscores, mask), mask.dtype());
}

}  // namespace

Tensors attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                            const Tensor& bits, const Tensor& dy, const ScoreAttrs& a,
                            double factor) {
  const Tensor weights = softmax(attention_scores(q, k, mask, a), -1);
  const Tensor d = heads_first(dy);
  const Tensor dweights = kept(times_key(d, heads_first(v), k, true), bits, factor);
  const Tensor dscores = through_softmax(weights, dweights);
  return {heads_first(scaled(times_key(dscores, heads_first(k), k, false), q, a.scale)),
          heads_first(scaled(onto_key(dscores, heads_first(q), k), q, a.scale)),
          heads_first(onto_key(kept(weights, bits, factor), d, k)), onto_mask(dscores, mask)};
}

Tensors attention_second_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& mask, const Tensor& bits, const Tensor& dy,
                                   const Tensor (&d)[3], const ScoreAttrs& a, double factor) {
  const Tensor weights = softmax(attention_scores(q, k, mask, a), -1);
  const Tensor query = heads_first(q), key = heads_first(k), value = heads_first(v);
  const Tensor g = heads_first(dy), dq = heads_first(d[0]), dk = heads_first(d[1]);
  const Tensor dv = heads_first(d[2]);
  auto grown = [&](const Tensor& x) { return kept(x, bits, factor); };
  // The first gradients again: of the weights, and of the scores.
  const Tensor dweights = grown(times_key(g, value, k, true));
  const Tensor dscores = through_softmax(weights, dweights);
  // By dscores, by dweights, then by the weights (which dscores and the gradient of value read).
  const Tensor by_dscores =
      scaled(add(times_key(dq, key, k, true), times_key(query, dk, k, true)), q, a.scale);
  const Tensor by_dweights = grown(through_softmax(weights, by_dscores));
  const Tensor mean = sum(multiply(dweights, weights), {-1}, true);
  const Tensor other = sum(multiply(by_dscores, weights), {-1}, true);
  const Tensor by_weights =
      add(subtract(multiply(by_dscores, subtract(dweights, mean)), multiply(dweights, other)),
          grown(times_key(g, dv, k, true)));
  const Tensor by_scores = through_softmax(weights, by_weights);
  const Tensor by_query =
      add(times_key(by_scores, key, k, false), times_key(dscores, dk, k, false));
  const Tensor by_key = add(onto_key(by_scores, query, k), onto_key(dscores, dq, k));
  const Tensor by_dy =
      add(times_key(by_dweights, value, k, false), times_key(grown(weights), dv, k, false));
  return {heads_first(scaled(by_query, q, a.scale)), heads_first(scaled(by_key, q, a.scale)),
          heads_first(onto_key(by_dweights, g, k)), onto_mask(by_scores, mask), heads_first(by_dy)};
}

}  // namespace argosy::ops
