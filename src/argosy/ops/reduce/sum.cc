#include "argosy/op/define.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

template <class T, class Acc>
void sum_naive(const Tensor& x, const Tensor& out, const Shape& out_steps) {
  std::vector<Acc> acc(static_cast<size_t>(out.numel()));
  Shape index = Shape::filled(x.rank(), 0);
  const T* from = x.data<T>();
  int64_t to = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    acc[static_cast<size_t>(to)] += static_cast<Acc>(from[i]);
    for (int d = x.rank() - 1; d >= 0; --d) {
      to += out_steps[d];
      if (++index[d] < x.dim(d)) break;
      to -= out_steps[d] * x.dim(d);
      index[d] = 0;
    }
  }
  for (size_t i = 0; i < acc.size(); ++i) out.data<T>()[i] = static_cast<T>(acc[i]);
}

void sum_kernel(const Tensor& x, const Tensor& out, uint32_t mask) {
  Shape steps = Shape::filled(x.rank(), 0);
  int64_t step = 1;
  for (int d = x.rank() - 1; d >= 0; --d)
    if (!(mask >> d & 1)) steps[d] = step, step *= x.dim(d);
  dispatch_types<int32_t, int64_t>(x.dtype(),
                                   [&]<class T>(T) { sum_naive<T, int64_t>(x, out, steps); });
  dispatch_floating(x.dtype(), [&]<class T>(T) { sum_naive<T, double>(x, out, steps); });
  dispatch_types<complex64, complex128>(
      x.dtype(), [&]<class T>(T) { sum_naive<T, complex128>(x, out, steps); });
}

// Axes of x that broadcasting a tensor of shape `like` to x's shape repeats.
uint32_t repeated_axes(const Shape& x, const Shape& like) {
  uint32_t mask = 0;
  int skip = x.rank() - like.rank();
  for (int d = 0; d < x.rank(); ++d)
    if (d < skip || (like[d - skip] == 1 && x[d] != 1)) mask |= 1u << d;
  return mask;
}

void sum_like_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0].shape = c.in[1].shape();
}

void sum_like_run(op::KernelFrame& f, const NoAttrs&) {
  sum_kernel(f.in[0], f.out[0], repeated_axes(f.in[0].shape(), f.in[1].shape()));
}

Tensors sum_like_grad(const GradCall& c, const NoAttrs&) {
  return {expand_like(c.dy(), c.in[0]), Tensor()};
}

ARGOSY_OP(sum_like, NoAttrs)
    .doc("Sum of x over what broadcasting `like` to x's shape repeats; has like's shape.")
    .input("x", kNumeric, Save::shape)
    .input("like")
    .output("out")
    .infer(sum_like_infer)
    .kernel("reference", sum_like_run)
    .gradient(sum_like_grad)
    .done();

}  // namespace

Tensor sum_like(const Tensor& x, const Tensor& like) {
  if (x.shape() == like.shape() && x.shape().known()) return x;
  return sum_like_op(x, like);
}

}  // namespace argosy::ops
