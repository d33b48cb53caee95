#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/heads.h"
#include "argosy/infer/onnx/loop.h"
#include "argosy/ops/activation/activation.h"

// Attention and what stands around it in language models.
namespace argosy::infer::onnx {
namespace {

// Which keys a query sees, by where both are.
void limit_by_place(const Node& n, const Tensor& q, const Tensor& k, const Tensor& past,
                    const Tensor& valid, Bias* bias) {
  const bool causal = n.flag("is_causal");
  const int64_t left = n.integer("left_window_size", -1),
                right = n.integer("right_window_size", -1);
  const Tensor keys = along(positions(k, 2), 3, 4);
  if (valid.defined()) bias->allow(ops::less_than(keys, along(as(valid, DType::int64), 0, 4)));
  if (!causal && left < 0 && right < 0) return;
  Tensor queries = along(positions(q, 2), 2, 4);
  if (past.defined())
    queries = ops::add(queries, ops::size_of(past, 2, DType::int64));
  else if (valid.defined())
    queries = ops::add(queries, ops::subtract(along(as(valid, DType::int64), 0, 4),
                                              ops::size_of(q, 2, DType::int64)));
  auto moved = [&](int64_t by) {
    return ops::add(queries, ops::constant(op::Scalar(by), DType::int64));
  };
  if (causal) bias->allow(ops::less_equal(keys, queries));
  if (left >= 0) bias->allow(ops::greater_equal(keys, moved(-left)));
  if (right >= 0) bias->allow(ops::less_equal(keys, moved(right)));
}

void add_mask(const Node& n, Tensor mask, const Tensor& k, Bias* bias) {
  mask = with_rank(mask, 4);
  const bool is_bool = mask.dtype() == DType::bool_;
  if (mask.dim(3) != k.dim(2) && mask.dim(3) != 1) {
    // A mask that ends before the keys do hides the rest.
    if (mask.dim(3) < 0 || k.dim(2) < 0) n.session.need_shapes(n);
    const std::vector<int64_t> pads{0, 0, 0, 0, 0, 0, 0, k.dim(2) - mask.dim(3)};
    const op::Scalar hidden =
        is_bool ? op::Scalar(false) : op::Scalar(-std::numeric_limits<double>::infinity());
    mask = call("pad", {mask}, {{"paddings", pads}, {"value", hidden}});
  }
  if (is_bool)
    bias->allow(mask);
  else
    bias->added = mask;
}

Items attention(const Node& n) {
  Tensor q = n.in(0), k = n.in(1), v = n.in(2);
  const bool packed = q.rank() == 3;
  const int64_t q_heads = n.integer("q_num_heads", 0), kv_heads = n.integer("kv_num_heads", 0);
  if (packed) {
    q = with_heads(n, q, q_heads);
    k = with_heads(n, k, kv_heads);
    v = with_heads(n, v, kv_heads);
  }
  const Tensor past_k = n.optional(4), past_v = n.optional(5), valid = n.optional(6);
  if (past_k.defined()) k = ops::concat(std::array{past_k, k}, 2);
  if (past_v.defined()) v = ops::concat(std::array{past_v, v}, 2);
  const Tensor present_k = k, present_v = v;
  n.expect(q.dim(1) > 0 && k.dim(1) > 0 && q.dim(1) % k.dim(1) == 0, "the heads do not fit");
  const int64_t group = q.dim(1) / k.dim(1);
  k = repeated_heads(k, group);
  v = repeated_heads(v, group);

  Bias bias;
  limit_by_place(n, q, k, past_k, valid, &bias);
  if (n.has(3)) add_mask(n, n.in(3), k, &bias);

  double scale = n.real("scale", 0);
  if (!n.has_attribute("scale")) {
    if (q.dim(3) < 0) n.session.need_shapes(n);
    scale = 1 / std::sqrt(static_cast<double>(q.dim(3)));
  }
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  const Attended a = attend(q, k, v, scale, bias, n.real("softcap", 0),
                            dtype_of_element(n.element_attribute("softmax_precision", 0)));
  n.expect(mode >= 0 && mode <= 3, "qk_matmul_output_mode is none of the known ones");
  const Tensor shown[] = {a.products, a.capped, a.biased, a.weights};
  return {packed ? without_heads(a.y) : a.y, present_k, present_v, shown[mode]};
}

Items rotary(const Node& n) {
  const Tensor& x = n.in(0);
  const int64_t heads = n.integer("num_heads", 0);
  const bool packed = x.rank() == 3, interleaved = n.flag("interleaved");
  const Tensor q = packed ? with_heads(n, x, heads) : x;  // [batch, heads, length, size]
  n.expect(q.rank() == 4 && q.dim(3) > 0, "three or four dimensions of known size are expected");
  int64_t turned = n.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = q.dim(3);
  auto cache = [&](size_t i) {
    Tensor t = n.in(i);
    if (n.has(3)) t = ops::take_slices(t, n.in(3), 0);
    return ops::unsqueeze(with_rank(t, 3), op::IntArray{1});
  };
  const Tensor cosine = cache(1), sine = cache(2);
  const Tensor head = ops::slice(q, 3, 0, turned);
  Tensor a, b;
  if (interleaved) {
    a = ops::slice(head, 3, 0, turned, 2);
    b = ops::slice(head, 3, 1, turned, 2);
  } else {
    a = ops::slice(head, 3, 0, turned / 2);
    b = ops::slice(head, 3, turned / 2, turned);
  }
  const Tensor real = ops::subtract(ops::multiply(cosine, a), ops::multiply(sine, b));
  const Tensor imaginary = ops::add(ops::multiply(sine, a), ops::multiply(cosine, b));
  Tensor y = interleaved ? ops::flatten(ops::stack(std::array{real, imaginary}, 4), 3, 4)
                         : ops::concat(std::array{real, imaginary}, 3);
  if (turned != q.dim(3)) y = ops::concat(std::array{y, ops::slice(q, 3, turned, q.dim(3))}, 3);
  return {packed ? without_heads(y) : y};
}

Items linear_attention(const Node& n) {
  const int64_t q_heads = n.integer("q_num_heads"), heads = n.integer("kv_num_heads");
  const std::string rule = n.text("update_rule", "gated_delta");
  n.integer("chunk_size", 64);  // how it is computed, not what
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  n.expect(gated || delta || rule == "linear", "update_rule is none of the known ones");
  n.expect(heads > 0 && q_heads % heads == 0, "the heads do not fit");
  const DType dtype = n.in(0).dtype();
  // In float32, steps first: [length, batch, heads, ..].
  auto steps = [&](const Tensor& x, int64_t count) {
    return ops::transpose(as(with_heads(n, x, count), DType::float32), {2, 0, 1, 3});
  };
  const Tensor q = steps(n.in(0), q_heads), k = steps(n.in(1), heads), v = steps(n.in(2), heads);
  if (q.dim(3) < 0) n.session.need_shapes(n);
  double scale = n.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.dim(3)));
  Tensor decay, beta;
  if (gated) decay = ops::exp(steps(n.in(4), heads));
  if (delta) {
    const Tensor& b = n.in(5);
    beta = steps(b, b.dim(2) == 1 ? 1 : heads);
  }
  Tensor state = n.optional(3);
  if (!state.defined()) {
    op::IntArray shape;
    ops::push_size(shape, q, 1);
    push(shape, heads);
    push(shape, q.dim(3));
    ops::push_size(shape, v, 3);
    state = ops::full(shape, op::Scalar(0.0), DType::float32);
  }
  Loop loop;
  loop.count = q.dim(0) >= 0 ? ops::constant(op::Scalar(q.dim(0)), DType::int64)
                             : ops::size_of(q, 0, DType::int64);
  loop.carried = {as(state, DType::float32)};
  loop.body = [&](const Tensor& t, const Tensor&, const Items& carried) {
    Tensor s = carried[0].tensor;  // [batch, heads, key size, value size]
    auto now = [&](const Tensor& x) { return ops::take_slices(x, t, 0); };
    const Tensor key = ops::unsqueeze(now(k), op::IntArray{3});
    Tensor value = ops::unsqueeze(now(v), op::IntArray{2});
    if (gated) s = ops::multiply(s, ops::unsqueeze(now(decay), op::IntArray{3}));
    if (delta) {
      value = ops::subtract(value, ops::matmul(key, s, true, false));
      value = ops::multiply(value, ops::unsqueeze(now(beta), op::IntArray{3}));
    }
    s = ops::add(s, ops::multiply(key, value));
    const Tensor query = ops::unsqueeze(ops::scale(now(q), scale), op::IntArray{2});
    Round r;
    r.carried = {s};
    r.scanned = {
        ops::squeeze(ops::matmul(query, repeated_heads(s, q_heads / heads)), op::IntArray{2})};
    return r;
  };
  const Items out = run_loop(n, loop);
  const Tensor y = ops::flatten(ops::transpose(out[1].tensor, {1, 0, 2, 3}), 2, 3);
  return {as(y, dtype), as(out[0].tensor, n.has(3) ? n.in(3).dtype() : dtype)};
}

Items causal_conv(const Node& n) {
  const Tensor &x = n.in(0), &weight = n.in(1);
  const std::string activation = n.text("activation", "none");
  n.expect(activation == "none" || activation == "silu" || activation == "swish",
           "activation is none of the known ones");
  const int64_t keep = weight.dim(2) - 1;
  n.expect(x.rank() == 3 && weight.rank() == 3 && keep >= 0, "x and weight have three dimensions");
  Tensor past = n.optional(3);
  if (!past.defined()) {
    op::IntArray shape;
    ops::push_size(shape, x, 0);
    ops::push_size(shape, x, 1);
    push(shape, keep);
    past = ops::full(shape, op::Scalar(0.0), x.dtype());
  }
  const Tensor whole = keep ? ops::concat(std::array{past, x}, 2) : x;
  Tensor y = call("conv1d", {whole, weight, n.optional(2)},
                  {{"stride", std::vector<int64_t>{1}},
                   {"padding", std::vector<int64_t>{0, 0}},
                   {"dilation", std::vector<int64_t>{1}},
                   {"groups", weight.dim(0)}});
  if (activation != "none") y = ops::silu(y);
  const Tensor state =
      keep ? ops::slice(whole, 2, -keep, std::numeric_limits<int64_t>::max()) : past;
  return {y, state};
}

constexpr Row kRows[] = {
    {"Attention", attention},
    {"CausalConvWithState", causal_conv},
    {"LinearAttention", linear_attention},
    {"RotaryEmbedding", rotary},
};

}  // namespace

std::span<const Row> attention_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
