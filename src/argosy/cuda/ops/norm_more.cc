#include "argosy/kernels/cuda/norm_more.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;

struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(const Tensor& x, int64_t axis) {
    if (axis < 0) axis += x.rank();
    for (int i = 0; i < x.rank(); ++i) (i < axis ? outer : i == axis ? n : inner) *= x.dim(i);
  }
};

void run_window(KernelFrame& f, const ops::ChannelWindowAttrs& a) {
  const Tensor& x = f.in[0];
  const Around r(x, a.axis);
  window_sum(stream_of(f), x.dtype(), x.raw(), r.outer, r.n, r.inner, a.before, a.after,
             f.out[0].raw());
}

void run_power(KernelFrame& f, const ops::SpectralAttrs& a) {
  const Tensor& x = f.in[0];
  const Around r(x, a.dim);
  // In float64, and copies: the operands stay as they are.
  Tensor state[2];
  for (size_t i = 0; i < 2; ++i) {
    state[i] = Tensor::empty(f.in[i + 1].shape(), DType::float64, x.place());
    op::copy_into(state[i], f.in[i + 1]);
  }
  power_iteration(stream_of(f), x.dtype(), x.raw(), r.outer, r.n, r.inner, a.power_iters, a.eps,
                  static_cast<double*>(state[0].raw()), static_cast<double*>(state[1].raw()));
  for (size_t i = 0; i < 2; ++i) op::copy_into(f.out[i], state[i]);
}

const char* power_match(const op::Inputs& in, const ops::SpectralAttrs&) {
  return in[0].numel() ? nullptr : "a weight without elements";
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::ChannelWindowAttrs>("channel_window_sum", run_window),
    add_kernel<ops::SpectralAttrs>("power_iteration", power_match, run_power),
};

}  // namespace
}  // namespace argosy::cuda
