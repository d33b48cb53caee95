#include "argosy/kernels/cpu/expm.h"

#include "argosy/ops/linalg/dense.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

void expm_infer(InferContext& c, const NoAttrs&) {
  check_square(c.name(), "x", c.in[0].shape());
}
void expm_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  if (x.numel()) cpu::matrix_exp(x.dtype(), matrix_count(x), x.dim(-1), x.raw(), f.out[0].raw());
}
// The derivative in a direction stands at the upper right of the exponential of [[x, d], [0, x]]
// (Higham, "Functions of Matrices", 3.6); its adjoint is that at x^H.
Tensors expm_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(matrix_exp, NoAttrs)
    .doc("The exponentials of square matrices x [.., n, n].")
    .input("x", kDense, Save::value)
    .output("out")
    .infer(expm_infer)
    .kernel("pade", expm_run)
    .gradient(expm_grad)
    .done();

Tensors expm_grad(const GradCall& c, const NoAttrs&) {
  const Tensor x = adjoint(c.in[0]), zero = zeros_like(x);
  const Tensor above[] = {x, c.dy()}, below[] = {zero, x};
  const Tensor both[] = {concat(above, -1), concat(below, -1)};
  const auto half = op::IntArray::one(2);
  const Tensor upper = split(matrix_exp_op(concat(both, -2)), half, -2)[0];
  return split(upper, half, -1)[1];
}

}  // namespace
}  // namespace argosy::ops
