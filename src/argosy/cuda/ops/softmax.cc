#include "argosy/kernels/cuda/softmax.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/activation/activation.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;

// [outer, n, inner] around an axis; a 0-d tensor is one row of one element.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(const Shape& shape, int64_t axis) {
    if (axis < 0) axis += shape.rank();
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : i == axis ? n : inner) *= shape[i];
  }
};

template <bool kLog>
void run(KernelFrame& f, const ops::SoftmaxAttrs& a) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  const Tensor* x = &f.in[0];
  if (x->dtype() != y.dtype()) {
    op::copy_into(y, *x);
    x = &y;
  }
  const Around r(y.shape(), a.axis);
  softmax(stream_of(f), y.dtype(), kLog, x->raw(), y.raw(), r.outer, r.n, r.inner);
}

template <bool kLog>
void run_grad(KernelFrame& f, const ops::SoftmaxGradAttrs& a) {
  const Tensor& y = f.in[0];
  if (y.numel() == 0) return;
  const Around r(y.shape(), a.axis);
  softmax_grad(stream_of(f), y.dtype(), kLog, y.raw(), f.in[1].raw(), f.out[0].raw(), r.outer, r.n,
               r.inner);
}

const char* grad_match(const op::Inputs& in, const ops::SoftmaxGradAttrs&) {
  return in[0].dtype() == in[1].dtype() ? nullptr : "dtypes that differ";
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::SoftmaxAttrs>("softmax", run<false>),
    add_kernel<ops::SoftmaxAttrs>("log_softmax", run<true>),
    add_kernel<ops::SoftmaxGradAttrs>("softmax_grad", grad_match, run_grad<false>),
    add_kernel<ops::SoftmaxGradAttrs>("log_softmax_grad", grad_match, run_grad<true>),
};

}  // namespace
}  // namespace argosy::cuda
