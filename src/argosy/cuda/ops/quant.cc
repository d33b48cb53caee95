#include "argosy/ops/quant/quant.h"

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/fake_quantize.h"

// Rounding in training.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::FakeQuantizeAttrs;

void fake_quantize_run(KernelFrame& f, const FakeQuantizeAttrs& a) {
  const Tensor &x = f.in[0], &scale = f.in[1];
  FakeQuantize c;
  c.n = x.numel();
  c.channels = scale.numel();
  for (int d = static_cast<int>(a.quant_axis) + 1; d < x.rank(); ++d) c.inner *= x.dim(d);
  c.steps = static_cast<double>((int64_t{1} << (a.bit_length - 1)) - 1);
  c.to_even = a.round_type == 0;
  fake_quantize(stream_of(f), c, x.dtype(), x.raw(), scale.dtype(), scale.raw(), f.out[0].raw());
}

[[maybe_unused]] const bool quant_added =
    add_kernel<FakeQuantizeAttrs>("fake_quantize_dequantize", fake_quantize_run);

}  // namespace
}  // namespace argosy::cuda
