#include "argosy/kernels/cuda/correlation.h"

#include "argosy/cuda/call.h"
#include "argosy/ops/vision/vision.h"

// Cost volumes of optical flow.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::CorrelationAttrs;

Correlation call_of(const Tensor& x, const Tensor& volume, const CorrelationAttrs& a) {
  Correlation c;
  c.dtype = x.dtype();
  c.images = x.dim(0);
  c.channels = x.dim(1);
  c.height = x.dim(2);
  c.width = x.dim(3);
  c.out_height = volume.dim(2);
  c.out_width = volume.dim(3);
  c.reach = a.max_displacement / a.stride2;
  c.kernel = a.kernel_size;
  c.stride1 = a.stride1;
  c.stride2 = a.stride2;
  c.start = a.max_displacement - a.pad_size;
  const int64_t count = c.channels * c.kernel * c.kernel;
  c.factor = count > 0 ? 1.0 / static_cast<double>(count) : 0;
  return c;
}

void run(KernelFrame& f, const CorrelationAttrs& a) {
  correlation(stream_of(f), call_of(f.in[0], f.out[0], a), f.in[0].raw(), f.in[1].raw(),
              f.out[0].raw());
}
void run_grad(KernelFrame& f, const CorrelationAttrs& a) {
  correlation_grad(stream_of(f), call_of(f.in[0], f.in[2], a), f.in[0].raw(), f.in[1].raw(),
                   f.in[2].raw(), f.out[0].raw(), f.out[1].raw());
}

[[maybe_unused]] const bool correlation_added = add_kernel<CorrelationAttrs>("correlation", run);
[[maybe_unused]] const bool correlation_grad_added =
    add_kernel<CorrelationAttrs>("correlation_grad", run_grad);

}  // namespace
}  // namespace argosy::cuda
