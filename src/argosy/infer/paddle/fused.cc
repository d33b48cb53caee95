#include <cmath>

#include "argosy/infer/paddle/common.h"

// Operations that are several of others: what Paddle's layers of paddle.incubate and its own passes
// write.
namespace argosy::infer::paddle {
namespace {

// Of a model that is asked, not trained: nothing is left out, but all may be made smaller.
Tensor not_dropped(const Node& n, const Tensor& x, const char* rate, const char* way) {
  if (n.text(way, "upscale_in_train") == "upscale_in_train") return x;
  const double p = n.real(rate, 0);
  return p == 0 ? x : ops::scale(x, 1 - p);
}
void expect_test(const Node& n, const char* rate) {
  if (!n.flag("is_test") && n.real(rate, 0) != 0) n.unsupported("dropout in a fused operation");
}

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon,
                  int64_t axis = -1) {
  return call_all("layer_norm", {x, scale, bias},
                  {{"begin_norm_axis", axis < 0 ? x.rank() - 1 : axis}, {"epsilon", epsilon}})[0];
}
Tensor plus(const Tensor& x, const Tensor& y) {
  return y.defined() ? ops::add(x, y) : x;
}

// activation(x y + bias)
void gemm_epilogue(const Node& n) {
  const Tensor x = n.in("X");
  const bool turned = n.flag("trans_x");
  if (x.rank() > 2 && turned) n.unsupported("a stack of matrices that is transposed");
  const Tensor out = ops::matmul(x, n.in("Y"), turned, n.flag("trans_y"));
  const std::string name = n.text("activation", "none");
  n.out("Out", activate(n, plus(out, n.optional("Bias")), name == "none" ? "" : name));
}

// x times a matrix [in, out], or [out, in] where it is to be transposed, plus bias.
void linear(const Node& n) {
  const Tensor out = ops::matmul(n.in("input"), n.in("weight"), false, n.flag("transpose_weight"));
  n.out("out", plus(out, n.optional("bias")));
}

void masked_softmax(const Node& n) {
  n.out("Out", call("softmax", {ops::add(n.in("X"), n.in("Mask"))}, {{"axis", -1}}));
}
// Of what is not above the diagonal.
void causal_softmax(const Node& n) {
  n.out("Out", call("softmax", {call("fill_future", {n.in("X")})}, {{"axis", -1}}));
}

void dropout_add(const Node& n) {
  expect_test(n, "p");
  n.out("out", ops::add(not_dropped(n, n.in("x"), "p", "mode"), n.in("y")));
}

void dropout_add_norm(const Node& n) {
  expect_test(n, "dropout_rate");
  const Tensor x = plus(n.in("X"), n.optional("Bias"));
  const Tensor sum =
      ops::add(not_dropped(n, x, "dropout_rate", "dropout_implementation"), n.in("Residual"));
  n.out("BiasDropoutResidualOut", sum);
  n.out("Y",
        layer_norm(sum, n.optional("LnScale"), n.optional("LnBias"), n.real("ln_epsilon", 1e-5)));
}

// x, the bias and the residual times its factor, which Paddle gives beside their normalization.
Tensor sum_to_normalize(const Node& n, double factor) {
  if (n.real("quant_scale", -1) > 0) n.unsupported("a normalization that gives integers");
  Tensor sum = plus(n.in("x"), n.optional("bias"));
  if (n.has("residual")) sum = ops::add(sum, ops::scale(n.in("residual"), factor));
  n.out("residual_out", sum);
  return sum;
}
void bias_residual_layer_norm(const Node& n) {
  const Tensor sum = sum_to_normalize(n, n.real("residual_alpha", 1));
  const bool normalizes = n.has("norm_weight") || n.has("norm_bias");
  n.out("out", normalizes ? layer_norm(sum, n.optional("norm_weight"), n.optional("norm_bias"),
                                       n.real("epsilon", 1e-5), n.integer("begin_norm_axis", 1))
                          : sum);
}
void bias_residual_rms_norm(const Node& n) {
  const Tensor sum = sum_to_normalize(n, 1);
  n.out("out", call_all("rms_norm", {sum, n.optional("norm_weight"), n.optional("norm_bias")},
                        {{"begin_norm_axis", n.integer("begin_norm_axis", 1)},
                         {"epsilon", n.real("epsilon", 1e-5)}})[0]);
}

void bias_activation(const Node& n) {
  if (n.has("dequant_scales") || n.has("shift") || n.has("smooth") || n.real("quant_scale", -1) > 0)
    n.unsupported("fused_bias_act of integers");
  const Tensor x = plus(n.in("x"), n.optional("bias"));
  const std::string name = n.text("act_method", "gelu");
  if (name == "swiglu" || name == "geglu") {
    const int64_t width = x.dim(-1);
    n.expect(width % 2 == 0, "the last size is odd or unknown");
    const int last = x.rank() - 1;
    const Tensor gate =
        activate(n, ops::slice(x, last, 0, width / 2), name == "swiglu" ? "silu" : "gelu");
    return n.out("out", ops::multiply(gate, ops::slice(x, last, width / 2, width)));
  }
  n.out("out", activate(n, x, name));
}

void feed_forward(const Node& n) {
  expect_test(n, "dropout1_prob");
  expect_test(n, "dropout2_prob");
  const Tensor x = n.in("x");
  const bool before = n.flag("pre_layer_norm");
  Tensor y = x;
  if (before)
    y = layer_norm(x, n.optional("ln1_scale"), n.optional("ln1_bias"), n.real("ln1_epsilon", 1e-5));
  y = plus(ops::matmul(y, n.in("linear1_weight")), n.optional("linear1_bias"));
  y = activate(n, y, n.text("act_method", "gelu"));
  y = not_dropped(n, y, "dropout1_prob", "dropout1_implementation");
  y = plus(ops::matmul(y, n.in("linear2_weight")), n.optional("linear2_bias"));
  y = not_dropped(n, y, "dropout2_prob", "dropout2_implementation");
  if (n.flag("add_residual", true)) y = ops::add(x, y);
  if (!before)
    y = layer_norm(y, n.optional("ln2_scale"), n.optional("ln2_bias"), n.real("ln2_epsilon", 1e-5));
  n.out("out", y);
}

// [batch, words, 3, heads, width] of x and the weights of queries, keys and values.
Tensor projected(const Node& n, const Tensor& x) {
  Tensor weight = n.in("qkv_weight"), bias = n.optional("qkv_bias");
  op::IntArray shape;
  ops::push_size(shape, x, 0);
  ops::push_size(shape, x, 1);
  if (n.flag("transpose_qkv_wb")) {  // a matrix [in, 3 out]
    const int64_t heads = n.integer("num_heads", 1);
    n.expect(heads > 0, "num_heads is not positive");
    for (const int64_t v : {int64_t{3}, heads, int64_t{-1}}) shape.values.push_back(v);
    return ops::reshape(plus(ops::matmul(x, weight), bias), shape);
  }
  n.expect(weight.rank() == 4, "qkv_weight has other than four dimensions");
  for (int d = 0; d < 3; ++d) shape.values.push_back(weight.dim(d));
  weight = ops::reshape(weight, {-1, weight.dim(3)});
  if (bias.defined()) bias = ops::reshape(bias, {-1});
  return ops::reshape(plus(ops::matmul(x, weight, false, true), bias), shape);
}

void self_attention(const Node& n) {
  if (n.has("cache_kv")) n.unsupported("fused_attention with a cache");
  expect_test(n, "attn_dropout_rate");
  expect_test(n, "dropout_rate");
  const Tensor x = n.in("x");
  const bool before = n.flag("pre_layer_norm");
  Tensor y = x;
  if (before)
    y = layer_norm(x, n.optional("ln_scale"), n.optional("ln_bias"), n.real("epsilon", 1e-5));
  const Tensor qkv = projected(n, y);
  const auto part = [&](int64_t i) { return ops::pick(qkv, 2, i); };
  Tensor out =
      call("scaled_dot_product_attention", {part(0), part(1), part(2), n.optional("src_mask")});
  out = not_dropped(n, out, "attn_dropout_rate", "attn_dropout_implementation");
  out = ops::flatten(out, 2, 3);
  out = plus(ops::matmul(out, n.in("out_linear_weight")), n.optional("out_linear_bias"));
  out = not_dropped(n, out, "dropout_rate", "dropout_implementation");
  if (n.flag("add_residual", true)) out = ops::add(x, out);
  if (!before)
    out = layer_norm(out, n.optional("ln_scale_2"), n.optional("ln_bias_2"),
                     n.real("ln_epsilon", 1e-5));
  n.out("out", out);
}

// Of [batch, words, heads, width].
void plain_attention(const Node& n) {
  for (const char* slot : {"cu_seqlens_q", "cu_seqlens_k", "causal_diagonal", "seqlen_k"})
    if (n.has(slot)) n.unsupported(std::string("memory_efficient_attention with ") + slot);
  expect_test(n, "dropout_p");
  const double scale = n.real("scale", -1);
  n.out("output", call("scaled_dot_product_attention",
                       {n.in("query"), n.in("key"), n.in("value"), n.optional("bias")},
                       {{"is_causal", n.flag("causal")}, {"scale", scale > 0 ? scale : 0.0}}));
}

void attention_of_packed(const Node& n) {
  if (n.real("dropout", 0) != 0 && !n.flag("is_test")) n.unsupported("dropout of attention");
  const Tensor qkv = n.in("qkv");  // [batch, words, 2 + heads over those of keys, heads, width]
  n.expect(qkv.rank() == 5 && qkv.dim(2) == 3, "queries, keys and values are three");
  const auto part = [&](int64_t i) { return ops::pick(qkv, 2, i); };
  n.out("out",
        call("scaled_dot_product_attention", {part(0), part(1), part(2), n.optional("attn_mask")},
             {{"is_causal", n.flag("causal")}}));
}

// --- rotary positions ---

// Angles [words, width] of which each frequency stands for two neighbours, or for two halves.
Tensor angles(const Node& n, const Tensor& x, int axis, bool neighbours) {
  const int64_t width = x.dim(-1);
  n.expect(width > 0 && width % 2 == 0, "the width of a head is odd");
  const double base = n.real("rotary_emb_base", 10000);
  const Tensor steps = Tensor::empty({width}, DType::float32);
  for (int64_t i = 0; i < width; ++i) {
    const int64_t pair = neighbours ? i / 2 : i % (width / 2);
    steps.data<float>()[i] = static_cast<float>(
        std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(width)));
  }
  const Tensor places = as(count_up_to(ops::size_of(x, axis, DType::int64)), DType::float32);
  return ops::multiply(ops::unsqueeze(places, {1}), steps);
}

// (-b, a) for each pair (a, b).
Tensor turned(const Tensor& x, bool neighbours) {
  const int last = x.rank() - 1;
  const int64_t width = x.dim(-1);
  if (neighbours) {
    const Tensor a = ops::slice(x, last, 0, width, 2), b = ops::slice(x, last, 1, width, 2);
    return ops::flatten(ops::stack(std::array{ops::negative(b), a}, -1), last, last + 1);
  }
  const Tensor a = ops::slice(x, last, 0, width / 2), b = ops::slice(x, last, width / 2, width);
  return ops::concat(std::array{ops::negative(b), a}, last);
}

// Of [batch, words, heads, width], or [words, batch, heads, width].
void rotary(const Node& n) {
  const Tensor q = n.in("q");
  n.expect(q.rank() == 4, "queries have other than four dimensions");
  const bool neighbours = n.flag("use_neox_rotary_style", true);
  const int axis = n.flag("time_major") ? 0 : 1;
  // cos and sin as [words, width], or one for each of the batch by its positions.
  Tensor sine = n.optional("sin"), cosine = n.optional("cos");
  if (!sine.defined() || !cosine.defined()) {
    const Tensor of = angles(n, q, axis, neighbours);
    sine = ops::sin(of);
    cosine = ops::cos(of);
  } else {
    const auto table = [&](const Tensor& t) {
      return t.rank() == 4 ? ops::reshape(t, {-1, t.dim(3)}) : t;
    };
    sine = table(sine);
    cosine = table(cosine);
  }
  const auto placed = [&](Tensor t) {
    if (n.has("position_ids")) {  // [batch, words]
      t = ops::take_slices(t, n.in("position_ids"), 0);
      if (axis == 0) t = ops::transpose(t, {1, 0, 2});
    } else {
      t = ops::unsqueeze(t, {axis == 0 ? 1 : 0});
    }
    return ops::unsqueeze(t, {2});
  };
  sine = placed(sine);
  cosine = placed(cosine);
  const std::pair<const char*, const char*> slots[] = {
      {"q", "out_q"}, {"k", "out_k"}, {"v", "out_v"}};
  for (const auto& [in, out] : slots) {
    if (!n.has(in)) continue;
    const Tensor x = n.in(in);
    n.out(out, as(ops::add(ops::multiply(x, cosine), ops::multiply(turned(x, neighbours), sine)),
                  x.dtype()));
  }
}

constexpr Row kRows[] = {
    {"flash_attn_qkvpacked", attention_of_packed},
    {"fused_attention", self_attention},
    {"fused_bias_act", bias_activation},
    {"fused_bias_dropout_residual_layer_norm", dropout_add_norm},
    {"fused_bias_residual_layernorm", bias_residual_layer_norm},
    {"fused_dropout_add", dropout_add},
    {"fused_feedforward", feed_forward},
    {"fused_gemm_epilogue", gemm_epilogue},
    {"fused_rms_norm_quant", bias_residual_rms_norm},
    {"fused_rotary_position_embedding", rotary},
    {"fused_softmax_mask", masked_softmax},
    {"fused_softmax_mask_upper_triangle", causal_softmax},
    {"linear_v2", linear},
    {"memory_efficient_attention", plain_attention},
};

}  // namespace

std::span<const Row> fused_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
