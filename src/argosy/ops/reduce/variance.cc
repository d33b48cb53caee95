#include "argosy/ops/elementwise.h"
#include "argosy/ops/reduce/common.h"

// Variance, standard deviation, logsumexp.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::Save;

template <class A>
void infer_floating_reduced(op::InferContext& c, const A& a) {
  infer_reduced(c, a);
  if (!is_floating(c.out[0].dtype)) c.out[0].dtype = DType::float32;
}

void var_run(op::KernelFrame& f, const VarAttrs& a) {
  Tensor x = f.in[0];
  if (x.dtype() != f.out[0].dtype()) {
    x = Tensor::empty(f.in[0].shape(), f.out[0].dtype());
    op::copy_into(x, f.in[0]);
  }
  cpu::reduce_variance(x.dtype(), x.raw(), x.shape(), x.strides().data(),
                       op::axes_mask("var", a.axis, x.rank()), a.divisor_less(), f.out[0].raw(),
                       nullptr);
}

Tensors var_grad(const GradCall& c, const VarAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor dy = with_axes("var", c.dy(), x, a.axis, a.keepdim);
  Tensor centered = subtract(x, mean(x, a.axis, true));
  Tensor share = divide(scale(dy, 2), count_of(x, a.axis, x.dtype(), a.divisor_less()));
  return multiply(centered, share);
}

ARGOSY_OP(var, VarAttrs)
    .python("var(x, axis=None, unbiased=None, keepdim=False, name=None, *, correction=1, out=None)")
    .method("var")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "The variance over axis (an int or a list; None: all): the squared distance to the mean, "
        "summed and divided by n - correction. unbiased=True means correction 1, False 0.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.var(x).item()
1.6667
>>> argosy.var(x, axis=1).tolist()
[0.5, 0.5])")
    .input("x", kReal, Save::value)
    .output("out")
    .infer(infer_floating_reduced<VarAttrs>)
    .kernel("two passes", var_run)
    .strided()
    .gradient(var_grad)
    .done();

Tensors std_parts(const op::Inputs& in, const VarAttrs& a) {
  return sqrt(var_op(in[0], a));
}

ARGOSY_OP(std, VarAttrs)
    .python("std(x, axis=None, unbiased=True, keepdim=False, name=None)")
    .method("std")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The standard deviation over axis, the square root of var.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.std(x).item()
1.291
>>> argosy.std(x, axis=1).tolist()
[0.70711, 0.70711])")
    .input("x", kReal)
    .output("out")
    .infer(infer_floating_reduced<VarAttrs>)
    .compose(std_parts)
    .done();

void logsumexp_run(op::KernelFrame& f, const ReduceAttrs& a) {
  run_reduce(cpu::Reduce::logsumexp, f.in[0], f.out[0],
             op::axes_mask("logsumexp", a.axis, f.in[0].rank()));
}

Tensors logsumexp_grad(const GradCall& c, const ReduceAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor y = with_axes("logsumexp", c.out(0), x, a.axis, a.keepdim);
  Tensor dy = with_axes("logsumexp", c.dy(), x, a.axis, a.keepdim);
  return multiply(exp(subtract(x, y)), dy);
}

ARGOSY_OP(logsumexp, ReduceAttrs)
    .python("logsumexp(x, axis=None, keepdim=False, name=None, *, out=None)")
    .method("logsumexp")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "log of the sum of e^x over axis (an int or a list; None: all), without overflow; -inf of "
        "nothing. Integers give float32.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.logsumexp(x).item()
4.4402
>>> argosy.logsumexp(x, axis=1).tolist()
[2.3133, 4.3133])")
    .input("x", kReal, Save::value)
    .output("out", Save::value)
    .infer(infer_floating_reduced<ReduceAttrs>)
    .kernel("reduce", logsumexp_run)
    .strided()
    .gradient(logsumexp_grad)
    .done();

}  // namespace

Tensor logsumexp(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return logsumexp_op(x, ReduceAttrs{axis, keepdim});
}
Tensor var(const Tensor& x, const op::IntArray& axis, double correction, bool keepdim) {
  VarAttrs a;
  a.axis = axis;
  a.keepdim = keepdim;
  a.correction = correction;
  return var_op(x, a);
}

}  // namespace argosy::ops
