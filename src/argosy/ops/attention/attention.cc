#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

// Scaled dot-product attention from other ops.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::Inputs;
using op::KernelFrame;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// --- the causal mask ---

struct FutureAttrs {
  double value = kMinusInfinity;
};
ARGOSY_ATTRS(FutureAttrs, value)

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
    .input("x", kFloating)
    .output("out")
    .kernel("rows", future_run)
    .gradient(future_grad)
    .done();

// --- attention ---

struct AttentionAttrs {
  double dropout_p = 0;
  bool is_causal = false;
  double scale = 0;  // 0: 1 / sqrt(head_dim)
  bool return_weights = false;
};
ARGOSY_ATTRS(AttentionAttrs, dropout_p, is_causal, scale, return_weights)

// [batch, length, heads, dim] to [batch, heads, length, dim].
Tensor heads_first(const Tensor& x) {
  return transpose(x, {0, 2, 1, 3});
}

// Each head of x [batch, length, heads, dim] `times` times, one after the other.
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const Tensor one = unsqueeze(x, {3});
  const std::vector<Tensor> copies(static_cast<size_t>(times), one);
  return flatten(concat(copies, 3), 2, 3);
}

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto same = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool fits = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  if (fits) {
    const int64_t heads = q.dim(2), groups = k.dim(2);
    fits = same(q.dim(0), k.dim(0)) && same(k.dim(0), v.dim(0)) && same(k.dim(1), v.dim(1)) &&
           same(groups, v.dim(2)) && same(q.dim(3), k.dim(3)) &&
           (heads < 0 || groups < 0 || (groups > 0 && heads % groups == 0));
  }
  ARGOSY_CHECK(fits, invalid_argument)
      << "[scaled_dot_product_attention] query must be [batch, length, heads, head_dim], key and "
         "value [batch, key length, key heads, head_dim] with heads a multiple of key heads: got "
      << q << ", " << k << " and " << v << ". Do this: check the order of the axes.";
}

Tensor add_mask(const Tensor& scores, const Tensor& mask) {
  if (mask.dtype() != DType::bool_) return add(scores, cast(mask, scores.dtype()));
  return where(mask, scores, constant(kMinusInfinity, scores.dtype(), scores.place()));
}

// Query times scale, heads first.
Tensor scaled_query(const Tensor& q, double factor) {
  const int64_t n = q.dim(3);
  if (factor == 0 && n < 0) {
    const DType wide = q.dtype() == DType::float64 ? DType::float64 : DType::float32;
    return multiply(heads_first(q), cast(rsqrt(size_of(q, 3, wide)), q.dtype()));
  }
  return scale(heads_first(q), factor == 0 ? 1 / std::sqrt(static_cast<double>(n)) : factor);
}

// x [batch, heads, length, dim] as [batch, key heads, heads for each, length, dim].
Tensor grouped(const Tensor& x, const Tensor& key) {
  op::IntArray shape{0};
  push_size(shape, key, 2);
  shape.values.push_back(-1);
  push_size(shape, x, 2);
  push_size(shape, x, 3);
  return reshape(x, shape);
}

Tensors attention(const Inputs& in, const AttentionAttrs& a) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &mask = in[3];
  check_operands(q, k, v);
  const bool known = q.dim(2) >= 0 && k.dim(2) >= 0;
  const int64_t times = known ? q.dim(2) / k.dim(2) : 1;
  Tensor query = scaled_query(q, a.scale);
  Tensor keys = heads_first(repeat_heads(k, times)), values = heads_first(repeat_heads(v, times));
  Tensor by_group;  // where it is not known how many heads share a key
  if (!known) {
    by_group = matmul(grouped(query, k), unsqueeze(keys, {2}), false, true);
    values = unsqueeze(values, {2});
  }
  Tensor scores = known ? matmul(query, keys, false, true) : flatten(by_group, 1, 2);
  if (mask.defined()) scores = add_mask(scores, mask);
  if (a.is_causal) scores = fill_future_op(scores);
  Tensor weights = softmax(scores, -1);
  if (a.dropout_p > 0) weights = dropout(weights, a.dropout_p, true);
  Tensor mixed = known ? matmul(weights, values)
                       : flatten(matmul(reshape_like(weights, by_group), values), 1, 2);
  Tensors out{heads_first(mixed)};
  if (a.return_weights) out.push_back(weights);
  return out;
}

ARGOSY_OP(scaled_dot_product_attention, AttentionAttrs)
    .doc(
        "softmax(query key^T scale + mask) value for every head; with return_weights also the "
        "weights [batch, heads, length, key length]. mask: bool (True takes part) or numbers to "
        "add. is_causal: query i takes part with keys up to i.")
    .paper("1706.03762")
    .input("query", kFloating)
    .input("key", kFloating)
    .input("value", kFloating)
    .optional_input("attn_mask")
    .output("out")
    .list_output("weights")
    .compose(attention)
    .done();

}  // namespace
}  // namespace argosy::ops
