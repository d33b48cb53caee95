#include "argosy/ops/fft/fft.h"

#include "argosy/kernels/cpu/fft.h"
#include "argosy/op/define.h"

namespace argosy::ops {
namespace {

using op::GradCall;

void fft_infer(op::InferContext& c, const FftAttrs& a) {
  for (int64_t axis : a.axes) normalize_axis("fft", axis, c.in[0].rank());
}

void fft_run(op::KernelFrame& f, const FftAttrs& a) {
  const Tensor& y = f.out[0];
  op::copy_into(y, f.in[0]);
  double scale = a.scale;
  for (int64_t given : a.axes) {
    const int axis = normalize_axis("fft", given, y.rank());
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < y.rank(); ++d) {
      if (d < axis) outer *= y.dim(d);
      if (d > axis) inner *= y.dim(d);
    }
    if (y.dtype() == DType::complex64)
      cpu::fft(static_cast<float*>(y.raw()), outer, y.dim(axis), inner, a.forward, scale);
    else
      cpu::fft(static_cast<double*>(y.raw()), outer, y.dim(axis), inner, a.forward, scale);
    scale = 1;
  }
}

Tensors fft_grad(const GradCall& c, const FftAttrs& a);

ARGOSY_OP(fft_c2c, FftAttrs)
    .doc(
        "Discrete Fourier transform along axes: scale times the sum of x[j] exp(-2 pi i j k / n), "
        "or of x[j] exp(2 pi i j k / n) when not forward.")
    .shape("x [*s] -> [*s]")
    .input("x", kComplex)
    .output("out")
    .infer(fft_infer)
    .kernel("mixed radix", fft_run)
    .gradient(fft_grad)
    .done();

// The adjoint of the matrix exp(-2 pi i j k / n), which is symmetric, is its conjugate.
Tensors fft_grad(const GradCall& c, const FftAttrs& a) {
  return {fft_c2c_op(c.dy(), FftAttrs{a.axes, !a.forward, a.scale})};
}

}  // namespace
}  // namespace argosy::ops
