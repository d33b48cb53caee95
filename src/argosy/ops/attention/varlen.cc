#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/attention.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/attention/attention.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Attention within each sequence of a packed batch: query [rows, heads, size], key and value
// [key rows, key heads, size]; starts_q and starts_k [sequences + 1] say where each sequence
// begins, then the end. Rows of the query that belong to no sequence, or to one without keys, give
// 0.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

constexpr const char* kName = "varlen_attention";

void check_packed(const Inputs& in) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &starts_q = in[3], &starts_k = in[4];
  auto same = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool fits = q.rank() == 3 && k.rank() == 3 && v.rank() == 3;
  if (fits) {
    const int64_t heads = q.dim(1), groups = k.dim(1);
    fits = same(k.dim(0), v.dim(0)) && same(groups, v.dim(1)) && same(q.dim(2), k.dim(2)) &&
           (heads < 0 || groups < 0 || (groups > 0 && heads % groups == 0));
  }
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << kName
      << "] query must be [rows, heads, head_dim], key and value [key rows, key heads, head_dim] "
         "with heads a multiple of key heads: got "
      << q << ", " << k << " and " << v << ". Do this: check the order of the axes.";
  ARGOSY_CHECK(q.dtype() == k.dtype() && k.dtype() == v.dtype(), invalid_argument)
      << '[' << kName << "] query, key and value must have one dtype: got " << q << ", " << k
      << " and " << v << ". Do this: cast them with .astype(..).";
  const bool ends = starts_q.rank() == 1 && starts_k.rank() == 1 &&
                    same(starts_q.dim(0), starts_k.dim(0)) && starts_q.dim(0) != 0;
  ARGOSY_CHECK(ends, invalid_argument)
      << '[' << kName << "] the starts of sequences must be [sequences + 1] for query and key, got "
      << starts_q << " and " << starts_k
      << ". Do this: pass the running sums of their lengths, beginning with 0.";
}

// The numbers of `starts`, which rise and stay within `rows`.
std::vector<int64_t> starts_of(const Tensor& starts, int64_t rows, const char* what) {
  std::vector<int64_t> out;
  dispatch_types<int32_t, int64_t>(starts.dtype(), [&]<class I>(I) {
    for (int64_t i = 0; i < starts.numel(); ++i) {
      const auto at = static_cast<int64_t>(starts.data<I>()[i]);
      ARGOSY_CHECK(at >= (out.empty() ? 0 : out.back()) && at <= rows, invalid_argument)
          << '[' << kName << "] the starts of " << what << " must rise from 0 to its " << rows
          << " rows: entry " << i << " is " << at
          << ". Do this: pass the running sums of the lengths.";
      out.push_back(at);
    }
  });
  return out;
}

// --- the mask ---

void mask_infer(InferContext& c, const VarlenMaskAttrs&) {
  for (size_t i = 0; i < 2; ++i) expect_rank(c, i, 1, kMaxRank);
  expect_size(c, 3, c.in[2].numel());
  c.out[0] = {{1, 1, c.in[0].dim(0), c.in[1].dim(0)}, DType::bool_};
}
void mask_run(KernelFrame& f, const VarlenMaskAttrs& a) {
  const int64_t rows = f.in[0].dim(0), keys = f.in[1].dim(0);
  const std::vector<int64_t> q = starts_of(f.in[2], rows, "query");
  const std::vector<int64_t> k = starts_of(f.in[3], keys, "key");
  bool* out = f.out[0].data<bool>();
  std::fill_n(out, rows * keys, false);
  for (size_t s = 0; s + 1 < q.size(); ++s)
    for (int64_t i = q[s]; i < q[s + 1]; ++i) {
      int64_t end = k[s + 1];
      if (a.is_causal) end = std::min(end, k[s] + i - q[s] + 1);
      std::fill(out + i * keys + k[s], out + i * keys + end, true);
    }
}

ARGOSY_OP(varlen_mask, VarlenMaskAttrs)
    .doc(
        "Which rows of a packed query [rows, ..] take part with which of a key [key rows, ..], as "
        "bool [1, 1, rows, key rows]: those of the same sequence.")
    .input("query")
    .shape_only()
    .input("key")
    .shape_only()
    .input("starts_q", kIndex)
    .input("starts_k", kIndex)
    .index_output("mask")
    .infer(mask_infer)
    .kernel("blocks", mask_run)
    .done();

// The packed batch as one sequence under a mask. Rows that have no key take part with all of them
// (else they gave NaN); `some`, [rows, 1, 1], is false for these.
struct Masked {
  Tensor q, k, v, mask, some;
};
Masked masked(const Inputs& in, bool is_causal) {
  Masked m{unsqueeze(in[0], {0}), unsqueeze(in[1], {0}), unsqueeze(in[2], {0}), {}, {}};
  const Tensor own = varlen_mask_op.all({in[0], in[1], in[3], in[4]}, {is_causal})[0];
  const Tensor some = any(own, {-1}, true);
  m.mask = logical_or(own, logical_not(some));
  m.some = reshape(some, {-1, 1, 1});
  return m;
}
// x where `some` is true, else 0.
Tensor only_where(const Tensor& some, const Tensor& x) {
  return where(some, x, constant(0.0, x.dtype(), x.place()));
}

// --- attention ---

DType computing_dtype(DType t) {
  return t == DType::float64 ? t : DType::float32;
}

void packed_infer(InferContext& c, const PackedAttrs&) {
  check_packed(c.in);
  const Tensor& q = c.in[0];
  c.out[0].shape = {q.dim(0), q.dim(1), c.in[2].dim(2)};
  c.out[1] = {{q.dim(1), q.dim(0)}, computing_dtype(q.dtype())};
}

template <class Attrs>
const char* packed_match(const Inputs& in, const Attrs&) {
  for (size_t i = 0; i < 3; ++i)
    if (in[i].numel() == 0) return "an empty operand";
  return nullptr;
}

char* advance(void* p, int64_t elements, DType type) {
  return static_cast<char*>(p) + elements * item_size(type);
}

// What each sequence of a call works on.
class Sequences {
 public:
  Sequences(const Inputs& in, const PackedAttrs& a)
      : q_(starts_of(in[3], in[0].dim(0), "query")), k_(starts_of(in[4], in[1].dim(0), "key")) {
    const Tensor &q = in[0], &k = in[1], &v = in[2];
    common_.type = q.dtype();
    common_.batch = 1;
    common_.heads = q.dim(1);
    common_.key_heads = k.dim(1);
    common_.size = q.dim(2);
    common_.value_size = v.dim(2);
    common_.scale = a.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.dim(2))) : a.scale;
    common_.causal = a.is_causal;
    common_.query = matrices(q);
    common_.key = matrices(k);
    common_.value = matrices(v);
  }
  int64_t heads() const { return common_.heads; }
  int64_t size() const { return common_.size; }
  int64_t value_size() const { return common_.value_size; }
  int64_t key_heads() const { return common_.key_heads; }
  DType type() const { return common_.type; }
  // f(call, first row, first key row) for each sequence that has rows and keys.
  template <class F>
  void each(F&& f) const {
    auto one = [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const auto i = static_cast<size_t>(s);
        cpu::Attention a = common_;
        a.queries = q_[i + 1] - q_[i];
        a.keys = k_[i + 1] - k_[i];
        if (a.queries == 0 || a.keys == 0) continue;
        a.query.data = from(a.query, q_[i]);
        a.key.data = from(a.key, k_[i]);
        a.value.data = from(a.value, k_[i]);
        f(a, q_[i], k_[i]);
      }
    };
    const auto count = static_cast<int64_t>(q_.size()) - 1;
    if (count == 1)
      one(0, 1);  // its blocks may use all threads
    else
      parallel_for(count, 1, one);
  }

 private:
  static cpu::HeadMatrices matrices(const Tensor& x) {
    return {x.raw(), 0, x.dim(1) * x.dim(2), x.dim(2)};
  }
  const void* from(const cpu::HeadMatrices& m, int64_t row) const {
    return advance(const_cast<void*>(m.data), row * m.row, common_.type);
  }
  std::vector<int64_t> q_, k_;
  cpu::Attention common_;
};

void zero(const Tensor& x) {
  std::memset(x.raw(), 0,
              static_cast<size_t>(x.numel()) * static_cast<size_t>(item_size(x.dtype())));
}

void packed_run(KernelFrame& f, const PackedAttrs& a) {
  const Sequences sequences(f.in, a);
  zero(f.out[0]);
  zero(f.out[1]);
  const DType wide = f.out[1].dtype();
  sequences.each([&](const cpu::Attention& call, int64_t row, int64_t) {
    const int64_t heads = sequences.heads();
    cpu::attention(call, advance(f.out[0].raw(), row * heads * sequences.value_size(), call.type),
                   advance(f.out[1].raw(), row * heads, wide));
  });
}

// Its log_sum is laid out otherwise than the kernel's; nothing but the gradient's kernel reads it.
Tensors packed_parts(const Inputs& in, const PackedAttrs& a) {
  const Masked m = masked(in, a.is_causal);
  const Tensor scores = attention_scores(m.q, m.k, m.mask, {false, a.scale});
  const Tensor out = squeeze(attention_mix(softmax(scores, -1), m.k, m.v), {0});
  const Tensor log_sum = logsumexp(cast(scores, computing_dtype(in[0].dtype())), {-1});
  return {only_where(m.some, out), squeeze(log_sum, {0})};
}

// --- gradient ---

void grad_infer(InferContext& c, const PackedAttrs&) {
  check_packed(c.in);
  const Tensor &q = c.in[0], &v = c.in[2];
  for (size_t of_result : {5, 7}) {
    expect_shape(c, of_result, {q.dim(0), q.dim(1), v.dim(2)});
    expect_dtype(c, of_result, q.dtype());
  }
  expect_shape(c, 6, {q.dim(1), q.dim(0)});
  expect_dtype(c, 6, computing_dtype(q.dtype()));
  for (size_t i = 0; i < 3; ++i) c.out[i].shape = c.in[i].shape();
}

void grad_run(KernelFrame& f, const PackedAttrs& a) {
  const Sequences sequences(f.in, a);
  for (size_t i = 0; i < 3; ++i) zero(f.out[i]);
  const Tensor &out = f.in[5], &log_sum = f.in[6], &dy = f.in[7];
  sequences.each([&](const cpu::Attention& call, int64_t row, int64_t key_row) {
    const int64_t at = row * call.heads, key_at = key_row * call.key_heads;
    cpu::attention_grad(call, advance(out.raw(), at * call.value_size, call.type),
                        advance(log_sum.raw(), at, log_sum.dtype()),
                        advance(dy.raw(), at * call.value_size, call.type),
                        advance(f.out[0].raw(), at * call.size, call.type),
                        advance(f.out[1].raw(), key_at * call.size, call.type),
                        advance(f.out[2].raw(), key_at * call.value_size, call.type));
  });
}

// out and log_sum, which depend on the others, are not read: so this can be differentiated.
Tensors grad_parts(const Inputs& in, const PackedAttrs& a) {
  const Masked m = masked(in, a.is_causal);
  const Tensor dy = unsqueeze(only_where(m.some, in[7]), {0});
  Tensors d = attention_gradients(m.q, m.k, m.v, m.mask, {}, dy, {false, a.scale}, 1);
  d.pop_back();
  for (Tensor& part : d) part = squeeze(part, {0});
  return d;
}

ARGOSY_OP(packed_attention_grad, PackedAttrs)
    .doc("Gradients of packed_attention by query, key and value, from its operands and results.")
    .input("query", kFloating)
    .input("key", kFloating)
    .input("value", kFloating)
    .input("starts_q", kIndex)
    .input("starts_k", kIndex)
    .input("out", kFloating)
    .input("log_sum", kFloating)
    .input("dy", kFloating)
    .output("dquery")
    .output("dkey")
    .output("dvalue")
    .infer(grad_infer)
    .kernel("tiled", packed_match<PackedAttrs>, grad_run)
    .compose(grad_parts)
    .done();

Tensors packed_grad(const GradCall& c, const PackedAttrs& a) {
  const Inputs& in = c.in;
  Tensors d = packed_attention_grad_op.all(
      {in[0], in[1], in[2], in[3], in[4], c.out(0), c.out(1), c.dy()}, a);
  d.resize(5);
  return d;
}

ARGOSY_OP(packed_attention, PackedAttrs)
    .doc("tiled_attention within each sequence of a packed batch.")
    .paper("2205.14135")
    .input("query", kFloating, Save::value)
    .input("key", kFloating, Save::value)
    .input("value", kFloating, Save::value)
    .input("starts_q", kIndex, Save::value)
    .input("starts_k", kIndex, Save::value)
    .output("out", Save::value)
    .hidden_output("log_sum")
    .infer(packed_infer)
    .kernel("tiled", packed_match<PackedAttrs>, packed_run)
    .compose(packed_parts)
    .gradient(packed_grad)
    .done();

struct VarlenAttrs {
  double dropout_p = 0;
  bool is_causal = false;
  double scale = 0;
};
ARGOSY_ATTRS(VarlenAttrs, dropout_p, is_causal, scale)

Tensors varlen(const Inputs& in, const VarlenAttrs& a) {
  check_packed(in);
  if (a.dropout_p <= 0) return std::move(packed_attention_op.all(in, {a.is_causal, a.scale})[0]);
  const Masked m = masked(in, a.is_causal);
  const Tensor bits = attention_bits(m.q, m.k, a.dropout_p);
  const Tensor out =
      tiled_attention(m.q, m.k, m.v, m.mask, bits, {false, a.scale}, upscale_factor(a.dropout_p));
  return only_where(m.some, squeeze(out, {0}));
}

ARGOSY_OP(varlen_attention, VarlenAttrs)
    .doc(
        "softmax(query key^T scale) value for every head, within each sequence of a packed batch: "
        "query [rows, heads, size], key and value [key rows, key heads, size], starts [sequences + "
        "1]. With dropout the batch is one sequence under a mask: as much work as that is.")
    .paper("2205.14135")
    .input("query", kFloating)
    .input("key", kFloating)
    .input("value", kFloating)
    .input("starts_q", kIndex)
    .input("starts_k", kIndex)
    .output("out")
    .compose(varlen)
    .done();

}  // namespace
}  // namespace argosy::ops
