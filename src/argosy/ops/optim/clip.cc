#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"
#include "argosy/ops/optim/norm.h"
#include "argosy/ops/optim/optim.h"
#include "argosy/ops/sparse/sparse.h"

// clip_by_norm, clip_by_global_norm.
namespace argosy::ops {
namespace {

using ClipAttrs = ClipByGlobalNormAttrs;

// The values that a gradient consists of, each once.
Tensor values_of(const Tensor& t) {
  return op::contiguous(t.layout() == Layout::row_sparse ? t.parts()[1] : t);
}

template <class T, class W>
void scale_range(const char* from, char* to, double factor, int64_t begin, int64_t end) {
  const T* __restrict x = reinterpret_cast<const T*>(from);
  T* __restrict y = reinterpret_cast<T*>(to);
  const W f = static_cast<W>(factor);
  for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(static_cast<W>(x[i]) * f);
}

// out = factor * t. A dense result goes into out's memory; a row-sparse one, whose size depends on
// data, is a new tensor.
void scale_into(Tensor& out, const Tensor& t, double factor) {
  const bool rows = t.layout() == Layout::row_sparse;
  Tensor x = values_of(t), y = rows ? Tensor::empty(x.shape(), x.dtype(), x.place()) : out;
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(y.raw());
  parallel_for(x.numel(), 32 * 1024, [&](int64_t begin, int64_t end) {
    dispatch_floating(x.dtype(), [&]<class T>(T) {
      using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
      scale_range<T, W>(from, to, factor, begin, end);
    });
  });
  if (rows) out = Tensor::row_sparse(t.parts()[0], y, t.dim(0));
}

void clip_by_global_norm(op::KernelFrame& f, const ClipAttrs& a) {
  const std::span<const Tensor> grads = f.in.list(0);
  std::vector<Tensor> merged(grads.begin(), grads.end());
  double square = 0;
  for (Tensor& g : merged) {
    if (g.layout() == Layout::row_sparse) g = merge_rows(g);
    square += optim::sum_of_squares(values_of(g));
  }
  const double norm = std::sqrt(square);
  // Not std::max: a norm that is not a number must show in the gradients.
  const double factor = a.clip_norm / (norm < a.clip_norm ? a.clip_norm : norm);
  for (size_t i = 0; i < merged.size(); ++i) scale_into(f.out[i], merged[i], factor);
}

void infer_list(op::InferContext& c, const ClipAttrs&) {
  c.out.resize(c.in.list(0).size());
  for (size_t i = 0; i < c.out.size(); ++i) {
    const Tensor& t = c.in.list(0)[i];
    c.out[i] = {t.shape(), t.dtype(), t.layout()};
  }
}

ARGOSY_OP(clip_by_global_norm, ClipAttrs)
    .doc(
        "Scales all gradients by clip_norm / max(norm, clip_norm), norm being that of all "
        "together.")
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_output("out")
    .infer(infer_list)
    .kernel("fused", clip_by_global_norm)
    .done();

void clip_by_norm(op::KernelFrame& f, const ClipByNormAttrs& a) {
  Tensor x = f.in[0];
  if (x.layout() == Layout::row_sparse) x = merge_rows(x);
  const double norm = std::sqrt(optim::sum_of_squares(values_of(x)));
  scale_into(f.out[0], x, norm <= a.max_norm ? 1 : a.max_norm / norm);
}

void infer_layout(op::InferContext& c, const ClipByNormAttrs&) {
  c.out[0].layout = c.in[0].layout();
}

ARGOSY_OP(clip_by_norm, ClipByNormAttrs)
    .doc("Scales x to the norm max_norm if its own is larger.")
    .shape("x [*s] -> [*s]")
    .input("x", kFloating)
    .layouts(op::kDenseOrRows)
    .output("out")
    .infer(infer_layout)
    .kernel("fused", clip_by_norm)
    .done();

void infer_rows(op::InferContext& c, const ClipByValueAttrs&) {
  c.out[0].layout = c.in[0].layout();
}

// Rows that repeat add up first.
void clip_by_value(op::KernelFrame& f, const ClipByValueAttrs& a) {
  Tensor x = f.in[0];
  const bool rows = x.layout() == Layout::row_sparse;
  if (rows) x = merge_rows(x);
  const Tensor from = values_of(x);
  const Tensor to = rows ? Tensor::empty(from.shape(), x.dtype(), x.place()) : f.out[0];
  cpu::LoopParams limits{a.min, a.max};
  const int64_t step = item_size(x.dtype()), strides[] = {step, step};
  char* const ptrs[] = {static_cast<char*>(from.raw()), static_cast<char*>(to.raw())};
  cpu::clip_loops()[x.dtype()](ptrs, strides, from.numel(), &limits);
  if (rows) f.out[0] = Tensor::row_sparse(x.parts()[0], to, x.dim(0));
}

ARGOSY_OP(clip_by_value, ClipByValueAttrs)
    .doc("x, or the rows of a row-sparse x, within [min, max].")
    .shape("x [*s] -> [*s]")
    .input("x", kFloating)
    .layouts(op::kDenseOrRows)
    .output("out")
    .infer(infer_rows)
    .kernel("fused", clip_by_value)
    .done();

}  // namespace
}  // namespace argosy::ops
