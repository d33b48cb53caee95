#include "argosy/ops/reduce/common.h"

// Sums and means of squares, which are never made.
namespace argosy::ops {
namespace {

using cpu::Reduce;
using op::GradCall;
using op::Save;

void squares_infer(op::InferContext& c, const SquaresAttrs& a) {
  infer_reduced(c, a);
}

void squares_run(op::KernelFrame& f, const SquaresAttrs& a) {
  run_reduce(a.mean ? Reduce::mean_squares : Reduce::sum_squares, f.in[0], f.out[0],
             op::axes_mask(f.name(), a.axis, f.in[0].rank()));
}

Tensors squares_grad(const GradCall& c, const SquaresAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor dy = c.dy();
  if (a.mean) dy = divide(dy, count_of(x, a.axis, x.dtype()));
  return multiply(scale(x, 2), with_axes("sum_squares", dy, x, a.axis, a.keepdim));
}

ARGOSY_OP(sum_squares, SquaresAttrs)
    .doc("The sum of x * x over axis (an int or a list; None: all); mean: their mean.")
    .shape("x [*s] -> [*s']")
    .input("x", kFloating, Save::value)
    .output("out")
    .infer(squares_infer)
    .kernel("reduce", squares_run)
    .strided()
    .gradient(squares_grad)
    .done();

}  // namespace
}  // namespace argosy::ops
