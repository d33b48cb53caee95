#include "argosy/op/define.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/reduce/reduce.h"

// Ops that take only the shape of their second input, which may be unknown while a Program is
// built.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

void shape_of_second(op::InferContext& c, const NoAttrs&) {
  c.out[0].shape = c.in[1].shape();
}

}  // namespace

void copy_run(op::KernelFrame& f, const NoAttrs&) {
  op::copy_into(f.out[0], f.in[0]);
}

namespace {

Tensors expand_like_grad(const GradCall& c, const NoAttrs&) {
  return {sum_like(c.dy(), c.in[0]), Tensor()};
}

ARGOSY_OP(expand_like, NoAttrs)
    .doc("x broadcast to like's shape; a copy.")
    .shape("x [*s], like [*t] -> [*t]")
    .input("x", kAny, Save::shape)
    .input("like")
    .shape_only()
    .output("out")
    .infer(shape_of_second)
    .kernel("copy", copy_run)
    .strided()
    .any_order()
    .gradient(expand_like_grad)
    .again()
    .done();

}  // namespace

void reshape_like_run(op::KernelFrame& f, const NoAttrs&) {
  ARGOSY_CHECK(f.in[0].numel() == f.out[0].numel(), invalid_argument)
      << "[reshape_like] cannot give " << f.in[0] << " the shape " << f.out[0].shape()
      << ": the numbers of elements differ.";
  op::copy_into(f.out[0].view(f.in[0].shape(), f.in[0].shape().contiguous_strides()), f.in[0]);
}

namespace {

Tensors reshape_like_grad(const GradCall& c, const NoAttrs&) {
  return {reshape_like(c.dy(), c.in[0]), Tensor()};
}

ARGOSY_OP(reshape_like, NoAttrs)
    .doc("x's elements in like's shape; a copy.")
    .shape("x [*s], like [*t] -> [*t]")
    .input("x", kAny, Save::shape)
    .input("like")
    .shape_only()
    .output("out")
    .infer(shape_of_second)
    .kernel("copy", reshape_like_run)
    .strided()
    .any_order()
    .gradient(reshape_like_grad)
    .same_order()
    .done();

Tensors assign_grad(const GradCall& c, const NoAttrs&) {
  return c.dy();
}

ARGOSY_OP(assign, NoAttrs)
    .python("clone(x, name=None)")
    .method("clone")
    .alias("input", "x")
    .doc("A copy of x, with gradient.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> y = argosy.clone(x)
>>> x.fill_(0.0).sum().item(), y.sum().item()
(0.0, 10.0))")
    .input("x")
    .output("out")
    .sums()
    .kernel("copy", copy_run)
    .strided()
    .any_order()
    .gradient(assign_grad)
    .same_order()
    .done();

Tensors with_values_grad(const GradCall& c, const NoAttrs&) {
  return {c.dy(), Tensor()};
}
void with_values_infer(op::InferContext& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &values = c.in[1];
  ARGOSY_CHECK(x.rank() == values.rank() && x.dtype() == values.dtype(), invalid_argument)
      << "[with_values] values must have x's dtype and dimensions: x is " << x << ", values are "
      << values << ". Do this: cast or reshape them.";
}
void with_values_run(op::KernelFrame& f, const NoAttrs&) {
  op::copy_into(f.out[0], f.in[1]);
}

ARGOSY_OP(with_values, NoAttrs)
    .doc(
        "values, to which x was set by a write that autograd does not see (x.detach().fill_(1)): "
        "the gradient is x's.")
    .shape("x [*s], values [*s] -> [*s]")
    .input("x", kAny, Save::shape)
    .shape_only()
    .input("values")
    .output("out")
    .infer(with_values_infer)
    .kernel("copy", with_values_run)
    .strided()
    .any_order()
    .gradient(with_values_grad)
    .done();

}  // namespace

Tensor assign(const Tensor& x) {
  return assign_op(x);
}

Tensor with_values(const Tensor& x, const Tensor& values) {
  return with_values_op(x, values);
}

void assign_instead(op::Instead& instead, int32_t operand) {
  assign_op.instead(instead, {operand});
}

Tensor expand_like(const Tensor& x, const Tensor& like) {
  return x.shape() == like.shape() && x.shape().known() ? x : expand_like_op(x, like);
}
Tensor reshape_like(const Tensor& x, const Tensor& like) {
  return x.shape() == like.shape() && x.shape().known() ? x : reshape_like_op(x, like);
}

}  // namespace argosy::ops
