#include "argosy/kernels/cpu/attention.h"
#include "argosy/op/cost.h"

#include <cmath>

#include "argosy/kernels/cpu/bits.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/attention/attention.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Attention that keeps no scores for its gradient.
namespace argosy::ops {
namespace {

using op::Cost;
using op::cost_of_shapes;
using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

// --- choices of dropout ---

using BitsAttrs = AttentionBitsAttrs;

int64_t product(std::initializer_list<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) {
    if (size < 0) return kUnknown;
    n *= size;
  }
  return n;
}
int64_t count_scores(const Tensor& q, const Tensor& k) {
  return product({q.dim(0), q.dim(2), q.dim(1), k.dim(1)});
}

void bits_infer(InferContext& c, const BitsAttrs&) {
  check_attention(c.name(), c.in[0], c.in[1], c.in[1]);
  const int64_t n = count_scores(c.in[0], c.in[1]);
  c.out[0] = {{n < 0 ? kUnknown : cpu::bytes_of_bits(n)}, DType::uint8};
}
void bits_run(KernelFrame& f, const BitsAttrs& a) {
  draw_kept_bits(f.out[0], count_scores(f.in[0], f.in[1]), a.p.real());
}

ARGOSY_OP(attention_bits, BitsAttrs)
    .doc(
        "dropout_bits of the weights [batch, heads, length, key length] that query and key will "
        "have.")
    .input("query")
    .shape_only()
    .input("key")
    .shape_only()
    .index_output("bits")
    .effect(op::Effect::random)
    .infer(bits_infer)
    .kernel("drawn", bits_run)
    .strided()
    .training_only()
    .done();

// --- attention ---

ScoreAttrs scores_of(const TiledAttrs& a) {
  return {a.is_causal, a.scale};
}

DType computing_dtype(DType t) {
  return t == DType::float64 ? t : DType::float32;
}

void check_bits(const char* op, const Tensor& q, const Tensor& k, const Tensor& bits) {
  if (!bits.defined()) return;
  const int64_t n = count_scores(q, k), bytes = bits.shape().numel();
  ARGOSY_CHECK(n < 0 || bytes < 0 || bytes == cpu::bytes_of_bits(n), invalid_argument)
      << '[' << op << "] expected " << cpu::bytes_of_bits(n) << " bytes of bits for query " << q
      << " and key " << k << ", got " << bits
      << ". Do this: pass what attention_bits gave for them.";
}

void check_forward(const InferContext& c) {
  const Tensor &q = c.in[0], &k = c.in[1], &v = c.in[2], &mask = c.in[3];
  check_attention(c.name(), q, k, v);
  check_bits(c.name(), q, k, c.in[4]);
  if (mask.defined()) {
    const Shape scores{q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
    bool fits = mask.rank() <= 4;
    for (int i = 1; fits && i <= mask.rank(); ++i) {
      const int64_t own = mask.dim(-i), size = scores[4 - i];
      fits = own == 1 || own < 0 || size < 0 || own == size;
    }
    ARGOSY_CHECK(fits && (mask.dtype() == DType::bool_ || mask.dtype() == q.dtype()),
                 invalid_argument)
        << '[' << c.name() << "] mask must broadcast to the scores [batch, heads, length, key "
        << "length] = " << scores << " and be bool or " << q.dtype() << ", got " << mask
        << ". Do this: check the order of its axes.";
  }
}

void tiled_infer(InferContext& c, const TiledAttrs&) {
  check_forward(c);
  const Tensor &q = c.in[0], &v = c.in[2];
  c.out[0].shape = {q.dim(0), q.dim(1), q.dim(2), v.dim(3)};
  c.out[1] = {{q.dim(0), q.dim(2), q.dim(1)}, computing_dtype(q.dtype())};
}

// Null, or why the kernels leave it to the composition.
const char* any_empty(const Inputs& in) {
  for (size_t i = 0; i < 3; ++i)
    if (in[i].numel() == 0) return "an empty operand";
  return nullptr;
}
template <class Attrs>
const char* match(const Inputs& in, const Attrs&) {
  return any_empty(in);
}

// An operand whose rows are contiguous; `copy` keeps it alive if it had to be made so.
cpu::HeadMatrices matrices(const Tensor& x, Tensor* copy) {
  *copy = x;
  if (x.strides()[3] != 1 && x.dim(3) != 1) *copy = op::contiguous(x);
  const Shape& s = copy->strides();
  return {copy->raw(), s[0], s[1], s[2]};
}

struct Call {
  cpu::Attention a;
  Tensor query, key, value, bits;
};
Call call_of(const Inputs& in, const TiledAttrs& attrs) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &mask = in[3], &bits = in[4];
  Call c;
  c.a.type = q.dtype();
  c.a.batch = q.dim(0);
  c.a.heads = q.dim(2);
  c.a.key_heads = k.dim(2);
  c.a.queries = q.dim(1);
  c.a.keys = k.dim(1);
  c.a.size = q.dim(3);
  c.a.value_size = v.dim(3);
  c.a.scale = attrs.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.dim(3))) : attrs.scale;
  c.a.causal = attrs.is_causal;
  c.a.query = matrices(q, &c.query);
  c.a.key = matrices(k, &c.key);
  c.a.value = matrices(v, &c.value);
  if (mask.defined()) {
    const Shape strides = broadcast_strides(mask, {q.dim(0), q.dim(2), q.dim(1), k.dim(1)});
    for (int i = 0; i < 4; ++i) c.a.mask_strides[i] = strides[i];
    c.a.mask = mask.raw();
    c.a.mask_is_bool = mask.dtype() == DType::bool_;
  }
  if (bits.defined()) {
    c.bits = op::contiguous(bits);
    c.a.kept = c.bits.data<uint8_t>();
  }
  c.a.factor = attrs.factor;
  return c;
}

void tiled_run(KernelFrame& f, const TiledAttrs& attrs) {
  const Call c = call_of(f.in, attrs);
  cpu::attention(c.a, f.out[0].raw(), f.out[1].raw());
}

Tensors tiled_parts(const Inputs& in, const TiledAttrs& a) {
  const Tensor &k = in[1], &v = in[2], &bits = in[4];
  const Tensor scores = attention_scores(in[0], k, in[3], scores_of(a));
  Tensor weights = softmax(scores, -1);
  if (bits.defined()) weights = apply_kept_bits(weights, bits, a.factor);
  return {attention_mix(weights, k, v), logsumexp(cast(scores, computing_dtype(k.dtype())), {-1})};
}

// All weights are kept.
bool without_bits(const op::Surroundings& around, op::Instead& instead, const TiledAttrs&) {
  const void* attrs = nullptr;
  if (around.made_by(4, &attrs) != &attention_bits_op.def()) return false;
  instead.operands = {0, 1, 2, 3, op::Instead::kNone};
  return true;
}
bool gradient_without_bits(const op::Surroundings& around, op::Instead& instead,
                           const TiledAttrs& a) {
  if (!without_bits(around, instead, a)) return false;
  for (int32_t i = 5; i < 8; ++i) instead.operands.push_back(i);
  return true;
}

// --- gradient ---

void grad_infer(InferContext& c, const TiledAttrs&) {
  check_forward(c);
  const Tensor &q = c.in[0], &v = c.in[2];
  for (size_t of_result : {5, 7}) {
    expect_shape(c, of_result, {q.dim(0), q.dim(1), q.dim(2), v.dim(3)});
    expect_dtype(c, of_result, q.dtype());
  }
  expect_shape(c, 6, {q.dim(0), q.dim(2), q.dim(1)});
  expect_dtype(c, 6, computing_dtype(q.dtype()));
  for (size_t i = 0; i < 3; ++i) c.out[i].shape = c.in[i].shape();
}

void grad_run(KernelFrame& f, const TiledAttrs& attrs) {
  const Call c = call_of(f.in, attrs);
  const Tensor out = op::contiguous(f.in[5]), log_sum = op::contiguous(f.in[6]);
  const Tensor dy = op::contiguous(f.in[7]);
  cpu::attention_grad(c.a, out.raw(), log_sum.raw(), dy.raw(), f.out[0].raw(), f.out[1].raw(),
                      f.out[2].raw());
}

// out and log_sum, which depend on the others, are not read: so this can be differentiated.
Tensors grad_parts(const Inputs& in, const TiledAttrs& a) {
  Tensors d = attention_gradients(in[0], in[1], in[2], in[3], in[4], in[7], scores_of(a), a.factor);
  d.pop_back();
  return d;
}

Tensors second(const GradCall& c, const TiledAttrs& a) {
  const Inputs& in = c.in;
  Tensor d[3];
  for (size_t i = 0; i < 3; ++i) d[i] = c.dy(i).defined() ? c.dy(i) : zeros_like(in[i]);
  const Tensors out = attention_second_gradients(in[0], in[1], in[2], in[3], in[4], in[7], d,
                                                 scores_of(a), a.factor);
  return {out[0], out[1], out[2], out[3], {}, {}, {}, out[4]};
}

Cost grad_cost(const InferContext& c, const TiledAttrs&) {
  return cost_of_shapes(c, 5.0 * 2 * static_cast<double>(count_scores(c.in[0], c.in[1])) *
                               static_cast<double>(c.in[0].dim(3)));
}

ARGOSY_OP(tiled_attention_grad, TiledAttrs)
    .doc("Gradients of tiled_attention by query, key and value, from its operands and results.")
    .input("query", kFloating, Save::value)
    .input("key", kFloating, Save::value)
    .input("value", kFloating, Save::value)
    .optional_input("mask", kAny, Save::value)
    .optional_input("bits", only(DType::uint8), Save::value)
    .input("out", kFloating)
    .input("log_sum", kFloating)
    .input("dy", kFloating, Save::value)
    .output("dquery")
    .output("dkey")
    .output("dvalue")
    .infer(grad_infer)
    .kernel("tiled", match<TiledAttrs>, grad_run)
    .strided()
    .compose(grad_parts)
    .gradient(second)
    .cost(grad_cost)
    .inference(gradient_without_bits)
    .done();

Tensors tiled_grad(const GradCall& c, const TiledAttrs& a) {
  const Inputs& in = c.in;
  const Tensor dy = c.dy();
  Tensors d;
  if (c.needs(3))
    d = attention_gradients(in[0], in[1], in[2], in[3], in[4], dy, scores_of(a), a.factor);
  else
    d = tiled_attention_grad_op.all({in[0], in[1], in[2], in[3], in[4], c.out(0), c.out(1), dy}, a);
  d.resize(5);
  return d;
}

Cost tiled_cost(const InferContext& c, const TiledAttrs&) {
  return cost_of_shapes(c, 2.0 * 2 * static_cast<double>(count_scores(c.in[0], c.in[1])) *
                               static_cast<double>(c.in[0].dim(3)));
}

ARGOSY_OP(tiled_attention, TiledAttrs)
    .doc(
        "scaled_dot_product_attention by blocks of queries and keys; keeps the logarithm of each "
        "query's sum of exponentials instead of scores. mask: bool, or of query's dtype. bits: "
        "what "
        "attention_bits gave; weights it keeps are multiplied by factor, the others are 0.")
    .shape("query [b,m,h,d], key [b,l,g,d], value [b,l,g,e], mask [*k], bits [*r] -> [b,m,h,e]")
    .paper("2205.14135")
    .input("query", kFloating, Save::value)
    .input("key", kFloating, Save::value)
    .input("value", kFloating, Save::value)
    .optional_input("mask", kAny, Save::value)
    .optional_input("bits", only(DType::uint8), Save::value)
    .output("out", Save::value)
    .hidden_output("log_sum")
    .infer(tiled_infer)
    .kernel("tiled", match<TiledAttrs>, tiled_run)
    .strided()
    .compose(tiled_parts)
    .gradient(tiled_grad)
    .cost(tiled_cost)
    .inference(without_bits)
    .amp(op::Amp::lower)
    .done();

}  // namespace

Tensor tiled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                       const Tensor& bits, const ScoreAttrs& a, double factor) {
  return std::move(
      tiled_attention_op.all({q, k, v, mask, bits}, {a.is_causal, a.scale, factor})[0]);
}

Tensor attention_bits(const Tensor& q, const Tensor& k, double p) {
  return attention_bits_op(q, k, {p});
}

}  // namespace argosy::ops
