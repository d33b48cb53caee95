#include "argosy/kernels/cuda/pad.h"

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/op/copy.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/vision/pad.h"

namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;

PadShape shape_of(const Shape& x, const Shape& y, const ops::PadAttrs& a) {
  PadShape s;
  s.rank = x.rank();
  s.mode = a.mode == "constant"    ? PadMode::constant
           : a.mode == "reflect"   ? PadMode::reflect
           : a.mode == "replicate" ? PadMode::replicate
                                   : PadMode::circular;
  for (int d = 0; d < x.rank(); ++d) {
    s.in[d] = x[d];
    s.out[d] = y[d];
    s.before[d] = a.paddings[2 * static_cast<size_t>(d)];
  }
  return s;
}

void pad_run(KernelFrame& f, const ops::PadAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  if (x.rank() == 0) return op::copy_into(y, x);
  const Tensor fill = ops::constant(a.value, x.dtype());
  pad(stream_of(f), y.raw(), x.raw(), op::to_host(fill).raw(), shape_of(x.shape(), y.shape(), a),
      item_size(x.dtype()));
}
[[maybe_unused]] const bool pad_added = add_kernel<ops::PadAttrs>("pad", pad_run);

const char* pad_grad_match(const Inputs& in, const ops::PadAttrs&) {
  return kFloat8.has(in[0].dtype()) ? "8-bit floats" : nullptr;
}
void pad_grad_run(KernelFrame& f, const ops::PadAttrs& a) {
  const Tensor &dy = f.in[0], &dx = f.out[0];
  if (dx.numel() == 0) return;
  if (dy.numel() == 0) return clear(stream_of(f), dx);
  if (dx.rank() == 0) return op::copy_into(dx, dy);
  pad_grad(stream_of(f), dx.dtype(), dx.raw(), dy.raw(), shape_of(dx.shape(), dy.shape(), a));
}
[[maybe_unused]] const bool pad_grad_added =
    add_kernel<ops::PadAttrs>("pad_grad", pad_grad_match, pad_grad_run);

}  // namespace
}  // namespace argosy::cuda
