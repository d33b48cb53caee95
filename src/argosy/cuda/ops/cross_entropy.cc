#include "argosy/kernels/cuda/cross_entropy.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/norm/parts.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::as_dtype;
using ops::raw_or_null;

CrossEntropy around(const Tensor& scores, int64_t axis, DType label, int64_t ignore_index) {
  CrossEntropy c{scores.dtype(), label, scores.dtype(), 1, 1, 1, ignore_index};
  if (axis < 0) axis += scores.rank();
  for (int i = 0; i < scores.rank(); ++i)
    (i < axis ? c.outer : i == axis ? c.n : c.inner) *= scores.dim(i);
  return c;
}

CrossEntropy hard(const Tensor& x, const Tensor& label, const ops::HardCrossEntropyAttrs& a) {
  CrossEntropy c = around(x, a.axis, label.dtype(), a.ignore_index);
  if (a.wide && kHalf.has(x.dtype())) c.loss_dtype = DType::float32;
  return c;
}

void run(KernelFrame& f, const ops::HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[1];
  if (label.numel() == 0) return;
  const CrossEntropy c = hard(x, label, a);
  const Tensor weight = as_dtype(f.in[2], c.loss_dtype);
  cross_entropy(stream_of(f), c, x.raw(), label.raw(), raw_or_null(weight), f.out[0].raw(),
                f.out[1].raw());
}

void run_grad(KernelFrame& f, const ops::HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[2];
  if (label.numel() == 0) return;
  const CrossEntropy c = hard(x, label, a);
  const Tensor weight = as_dtype(f.in[3], c.loss_dtype), dloss = as_dtype(f.in[4], c.loss_dtype);
  cross_entropy_grad(stream_of(f), c, x.raw(), f.in[1].raw(), label.raw(), raw_or_null(weight),
                     dloss.raw(), f.out[0].raw());
}

void run_select(KernelFrame& f, const ops::SelectClassAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[1];
  select_class(stream_of(f), around(x, a.axis, label.dtype(), a.ignore_index), x.raw(), label.raw(),
               a.fill, f.out[0].raw());
}

void run_spread(KernelFrame& f, const ops::SelectClassAttrs& a) {
  const Tensor &label = f.in[1], &out = f.out[0];
  spread_class(stream_of(f), around(out, a.axis, label.dtype(), a.ignore_index), label.raw(),
               f.in[2].raw(), out.raw());
}

void run_weights(KernelFrame& f, const ops::ClassWeightsAttrs& a) {
  const Tensor& label = f.in[1];
  const Tensor weight = as_dtype(f.in[0], a.dtype);
  const CrossEntropy c{a.dtype, label.dtype(), a.dtype,
                       label.numel(), weight.defined() ? weight.numel() : 0, 1, a.ignore_index};
  class_weights(stream_of(f), c, raw_or_null(weight), label.raw(), f.out[0].raw());
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::HardCrossEntropyAttrs>("hard_cross_entropy", run),
    add_kernel<ops::HardCrossEntropyAttrs>("hard_cross_entropy_grad", run_grad),
    add_kernel<ops::SelectClassAttrs>("select_class", run_select),
    add_kernel<ops::SelectClassAttrs>("spread_class", run_spread),
    add_kernel<ops::ClassWeightsAttrs>("class_weights", run_weights),
};

}  // namespace
}  // namespace argosy::cuda
