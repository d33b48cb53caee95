#include "argosy/kernels/cuda/cross_entropy.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/norm/parts.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::as_dtype;
using ops::raw_or_null;

CrossEntropy around(const Tensor& x, const Tensor& label, const ops::HardCrossEntropyAttrs& a) {
  CrossEntropy c{x.dtype(), label.dtype(), x.dtype(), 1, 1, 1, a.ignore_index, {}};
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? c.outer : i == axis ? c.n : c.inner) *= x.dim(i);
  if (a.wide && kHalf.has(x.dtype())) c.loss_dtype = DType::float32;
  return c;
}

void run(KernelFrame& f, const ops::HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[1];
  if (label.numel() == 0) return;
  CrossEntropy c = around(x, label, a);
  c.watch = watch_of(f, Named::label, a.ignore_index);
  const Tensor weight = as_dtype(f.in[2], c.loss_dtype);
  cross_entropy(stream_of(f), c, x.raw(), label.raw(), raw_or_null(weight), f.out[0].raw(),
                f.out[1].raw());
}

void run_grad(KernelFrame& f, const ops::HardCrossEntropyAttrs& a) {
  const Tensor &x = f.in[0], &label = f.in[2];
  if (label.numel() == 0) return;
  const CrossEntropy c = around(x, label, a);
  const Tensor weight = as_dtype(f.in[3], c.loss_dtype), dloss = as_dtype(f.in[4], c.loss_dtype);
  cross_entropy_grad(stream_of(f), c, x.raw(), f.in[1].raw(), label.raw(), raw_or_null(weight),
                     dloss.raw(), f.out[0].raw());
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::HardCrossEntropyAttrs>("hard_cross_entropy", run),
    add_kernel<ops::HardCrossEntropyAttrs>("hard_cross_entropy_grad", run_grad),
};

}  // namespace
}  // namespace argosy::cuda
