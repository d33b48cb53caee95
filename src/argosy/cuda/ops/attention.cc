#include "argosy/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/attention.h"
#include "argosy/op/define.h"
#include "argosy/op/dispatch.h"

// Attention that keeps no scores: by cuDNN where it takes it, else by own kernels. What is not here
// runs by the composition.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using ops::PackedAttrs;
using ops::TiledAttrs;

constexpr int64_t kMostSize = 256;
// cuDNN compiles for each problem anew, which takes seconds: not for short ones, nor for each step
// of a generation, whose keys grow. Own kernels have 64 queries in a block, and these few have room
// for their scores.
constexpr int64_t kFewQueries = 64;

// What cuDNN's kernels take. Its gradients are wrong for masks that broadcast over queries, and its
// dropout draws other numbers than attention_bits.
bool dnn_takes(const Inputs& in) {
  const Tensor &q = in[0], &v = in[2];
  if (!kHalf.has(q.dtype()) || in[3].defined() || in[4].defined()) return false;
  for (int64_t size : {q.dim(3), v.dim(3)})
    if (size % 8 != 0 || size > kMostSize) return false;
  return true;
}
// What own kernels take.
bool tiles_take(const Inputs& in) {
  return std::max(in[0].dim(3), in[2].dim(3)) <= kMostTiledSize;
}

const char* tiled_match(const Inputs& in, const TiledAttrs&) {
  const Tensor& q = in[0];
  if (!kHalf.has(q.dtype()) && q.dtype() != DType::float32)
    return "only 16-bit numbers and float32";
  for (size_t i = 0; i < 3; ++i)
    if (in[i].numel() == 0) return "an empty operand";
  if (q.dim(1) < kFewQueries) return "few queries";
  if (!tiles_take(in) && !dnn_takes(in))
    return "sizes of heads above 128, but 16-bit ones of multiples of 8 up to 256 without a mask "
           "and dropout";
  return nullptr;
}

// cuDNN reads and writes 16 bytes at once.
bool is_aligned(const Tensor& x) {
  return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0;
}
bool are_aligned(const Tensors& all) {
  bool aligned = true;
  for (const Tensor& x : all) aligned = aligned && is_aligned(x);
  return aligned;
}
bool has_usable_strides(const Tensor& x) {
  if (x.strides()[3] != 1) return false;
  for (int i = 0; i < 3; ++i)
    if (x.dim(i) > 1 && (x.strides()[i] <= 0 || x.strides()[i] % 8 != 0)) return false;
  return true;
}

// An operand of [batch, length, heads, size] as it lies, or a copy.
Tensor usable(const Tensor& x) {
  return has_usable_strides(x) ? x : op::contiguous(x);
}
HeadMatrices matrices(const Tensor& x) {
  const Shape& s = x.strides();
  return {x.raw(), s[0], s[1], s[2]};
}

struct Call {
  Attention a;
  Tensor query, key, value, bits;
  bool dnn;  // cuDNN takes it: all that it reads and writes is aligned
};
Call call_of(const KernelFrame& f, const TiledAttrs& attrs) {
  const Inputs& in = f.in;
  const Tensor &q = in[0], &k = in[1], &v = in[2], &mask = in[3], &bits = in[4];
  Call c{{}, usable(q), usable(k), usable(v), {}, false};
  c.dnn = dnn_takes(in) && is_aligned(c.query) && is_aligned(c.key) && is_aligned(c.value) &&
          are_aligned(f.out);
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
  c.a.query = matrices(c.query);
  c.a.key = matrices(c.key);
  c.a.value = matrices(c.value);
  if (mask.defined()) {
    const Shape strides = broadcast_strides(mask, {q.dim(0), q.dim(2), q.dim(1), k.dim(1)});
    for (int i = 0; i < 4; ++i) c.a.mask_strides[i] = strides[i];
    c.a.mask = mask.raw();
    c.a.mask_is_bool = mask.dtype() == DType::bool_;
  }
  if (bits.defined()) {
    c.bits = op::contiguous(bits);
    c.a.kept = c.bits.data<uint8_t>();
    c.a.factor = attrs.factor;
  }
  return c;
}

// Where cuDNN has no kernel, which match cannot know.
template <class Attrs>
void by_parts(KernelFrame& f, const Attrs& attrs) {
  const op::GradMode off(false);
  const Tensors parts = f.op.compose(f.in, &attrs);
  for (size_t i = 0; i < f.out.size(); ++i) op::copy_into(f.out[i], parts[i]);
}

void tiled_run(KernelFrame& f, const TiledAttrs& attrs) {
  const Call c = call_of(f, attrs);
  void* out = f.out[0].raw();
  float* log_sum = f.out[1].data<float>();
  const cudaStream_t stream = stream_of(f);
  if (c.dnn && attention(stream, c.a, out, log_sum)) return;
  if (!tiles_take(f.in)) return by_parts(f, attrs);
  tiled_attention(stream, c.a, out, log_sum);
}

void grad_run(KernelFrame& f, const TiledAttrs& attrs) {
  const Call c = call_of(f, attrs);
  const Tensor out = op::contiguous(f.in[5]), log_sum = op::contiguous(f.in[6]);
  const Tensor dy = op::contiguous(f.in[7]);
  const cudaStream_t stream = stream_of(f);
  auto run = [&](auto&& gradient) {
    return gradient(stream, c.a, out.raw(), log_sum.data<float>(), dy.raw(), f.out[0].raw(),
                    f.out[1].raw(), f.out[2].raw());
  };
  if (c.dnn && is_aligned(out) && is_aligned(dy) && run(attention_grad)) return;
  if (!tiles_take(f.in)) return by_parts(f, attrs);
  run(tiled_attention_grad);
}

[[maybe_unused]] const bool tiled_added =
    add_kernel<TiledAttrs>("tiled_attention", tiled_match, tiled_run, /*strided=*/true);
[[maybe_unused]] const bool tiled_grad_added =
    add_kernel<TiledAttrs>("tiled_attention_grad", tiled_match, grad_run, /*strided=*/true);

// --- of each sequence of a packed batch ---

constexpr int64_t kMostPackedSize = 128;

// By cuDNN or by own kernels is the same for both ops: a log_sum that this forward pass made is
// read by this gradient only.
bool dnn_takes_packed(const Inputs& in) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  if (!kHalf.has(q.dtype()) || in[3].dtype() != in[4].dtype()) return false;
  for (int64_t size : {q.dim(2), v.dim(2)})
    if (size % 16 != 0 || size > kMostPackedSize) return false;
  const int64_t widest = std::max(q.dim(2), v.dim(2));
  return std::max(q.dim(0) * q.dim(1), k.dim(0) * k.dim(1)) * widest < int64_t{1} << 31;
}
const char* packed_match(const Inputs& in, const PackedAttrs&) {
  const Tensor& q = in[0];
  if (!kHalf.has(q.dtype()) && q.dtype() != DType::float32)
    return "only 16-bit numbers and float32";
  for (size_t i = 0; i < 3; ++i)
    if (in[i].numel() == 0) return "an empty operand";
  if (in[3].numel() < 2) return "no sequence";
  if (q.dim(0) < kFewQueries) return "few queries";
  if (std::max(q.dim(2), in[2].dim(2)) > kMostTiledSize) return "sizes of heads above 128";
  return nullptr;
}

// The batch as one sequence whose queries take part with keys of their own.
struct OneSequence {
  Attention a;
  Tensor spans;  // of queries, then of keys
};
OneSequence one_sequence(const KernelFrame& f, const PackedAttrs& attrs) {
  const Inputs& in = f.in;
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  OneSequence s;
  s.a.type = q.dtype();
  s.a.batch = 1;
  s.a.heads = q.dim(1);
  s.a.key_heads = k.dim(1);
  s.a.queries = q.dim(0);
  s.a.keys = k.dim(0);
  s.a.size = q.dim(2);
  s.a.value_size = v.dim(2);
  s.a.scale = attrs.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.dim(2))) : attrs.scale;
  s.a.query = {q.raw(), 0, q.dim(1) * q.dim(2), q.dim(2)};
  s.a.key = {k.raw(), 0, k.dim(1) * k.dim(2), k.dim(2)};
  s.a.value = {v.raw(), 0, v.dim(1) * v.dim(2), v.dim(2)};
  s.spans = Tensor::empty({q.dim(0) + k.dim(0), 2}, DType::int32, q.place());
  auto* spans = static_cast<int2*>(s.spans.raw());
  packed_spans(stream_of(f), {in[3].raw(), in[3].dtype()}, {in[4].raw(), in[4].dtype()},
               in[3].numel() - 1, q.dim(0), k.dim(0), attrs.is_causal, spans, spans + q.dim(0));
  s.a.key_spans = spans;
  s.a.query_spans = spans + q.dim(0);
  return s;
}

PackedAttention packed_of(const Inputs& in, const PackedAttrs& attrs) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  PackedAttention a;
  a.type = q.dtype();
  a.sequences = in[3].numel() - 1;
  a.rows = q.dim(0);
  a.key_rows = k.dim(0);
  a.heads = q.dim(1);
  a.key_heads = k.dim(1);
  a.size = q.dim(2);
  a.value_size = v.dim(2);
  a.scale = attrs.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.dim(2))) : attrs.scale;
  a.causal = attrs.is_causal;
  a.query = q.raw();
  a.key = k.raw();
  a.value = v.raw();
  a.starts_type = in[3].dtype();
  a.starts_q = in[3].raw();
  a.starts_k = in[4].raw();
  return a;
}

bool packed_aligned(const KernelFrame& f) {
  return is_aligned(f.in[0]) && is_aligned(f.in[1]) && is_aligned(f.in[2]) && are_aligned(f.out);
}

// log_sum [heads, rows] holds [rows, heads] where cuDNN takes it, as that has it.
void packed_run(KernelFrame& f, const PackedAttrs& attrs) {
  const Tensor &out = f.out[0], &log_sum = f.out[1];
  if (!dnn_takes_packed(f.in)) {
    const OneSequence s = one_sequence(f, attrs);
    return tiled_attention(stream_of(f), s.a, out.raw(), log_sum.data<float>());
  }
  const PackedAttention a = packed_of(f.in, attrs);
  if (packed_aligned(f) && packed_attention(stream_of(f), a, out.raw(), log_sum.data<float>()))
    return;
  const op::GradMode off(false);
  const Tensors parts = f.op.compose(f.in, &attrs);
  op::copy_into(out, parts[0]);
  op::copy_into(log_sum.view(log_sum.shape(), {1, a.heads}), parts[1]);
}

void packed_grad_run(KernelFrame& f, const PackedAttrs& attrs) {
  const Tensor &out = f.in[5], &log_sum = f.in[6], &dy = f.in[7];
  if (!dnn_takes_packed(f.in)) {
    const OneSequence s = one_sequence(f, attrs);
    return tiled_attention_grad(stream_of(f), s.a, out.raw(), log_sum.data<float>(), dy.raw(),
                                f.out[0].raw(), f.out[1].raw(), f.out[2].raw());
  }
  const PackedAttention a = packed_of(f.in, attrs);
  if (packed_aligned(f) && is_aligned(out) && is_aligned(dy) &&
      packed_attention_grad(stream_of(f), a, out.raw(), log_sum.data<float>(), dy.raw(),
                            f.out[0].raw(), f.out[1].raw(), f.out[2].raw()))
    return;
  by_parts(f, attrs);
}

[[maybe_unused]] const bool packed_added =
    add_kernel<PackedAttrs>("packed_attention", packed_match, packed_run);
[[maybe_unused]] const bool packed_grad_added =
    add_kernel<PackedAttrs>("packed_attention_grad", packed_match, packed_grad_run);

}  // namespace
}  // namespace argosy::cuda
