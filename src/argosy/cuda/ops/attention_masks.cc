#include "argosy/kernels/cuda/attention_masks.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/attention/attention.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;

void run_future(KernelFrame& f, const ops::FutureAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  fill_future(stream_of(f), x.dtype(), x.raw(), x.numel() / (rows * columns), rows, columns,
              a.value, f.out[0].raw());
}

// Starts are not checked: the host does not see them.
void run_mask(KernelFrame& f, const ops::VarlenMaskAttrs& a) {
  const Tensor &q = f.in[2], &k = f.in[3];
  varlen_mask(stream_of(f), q.raw(), q.dtype(), k.raw(), k.dtype(), q.numel() - 1, f.in[0].dim(0),
              f.in[1].dim(0), a.is_causal, static_cast<bool*>(f.out[0].raw()));
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::FutureAttrs>("fill_future", run_future),
    add_kernel<ops::VarlenMaskAttrs>("varlen_mask", run_mask),
};

}  // namespace
}  // namespace argosy::cuda
