#include "argosy/kernels/cpu/rows.h"
#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::Inputs;
using op::KernelFrame;
using op::Save;

// [outer, n, inner] around an axis; a 0-d tensor is one row of one element.
struct Rows {
  int64_t outer = 1, n = 1, inner = 1;
};
Rows rows_of(const Shape& shape, int64_t axis) {
  Rows r;
  if (axis < 0) axis += shape.rank();
  for (int i = 0; i < shape.rank(); ++i)
    (i < axis ? r.outer : i == axis ? r.n : r.inner) *= shape[i];
  return r;
}

void softmax_infer(op::InferContext& c, const SoftmaxAttrs& a) {
  const Shape& x = c.in[0].shape();
  if (x.rank() > 0)
    normalize_axis_of_any(c.name(), a.axis, x.rank());
  else
    ARGOSY_CHECK(a.axis == 0 || a.axis == -1, invalid_argument)
        << '[' << c.name() << "] axis of a 0-d tensor must be 0 or -1, got " << a.axis
        << ". Do this: leave axis out, or unsqueeze x.";
  if (!a.dtype) {
    ARGOSY_CHECK(kFloating.has(c.in[0].dtype()), type)
        << '[' << c.name() << "] x must be floating, got " << c.in[0]
        << ". Do this: give dtype='float32'.";
    return;
  }
  ARGOSY_CHECK(kFloating.has(*a.dtype), type)
      << '[' << c.name() << "] dtype must be floating, got " << *a.dtype
      << ". Do this: pass 'float32' or leave it out.";
  c.out[0].dtype = *a.dtype;
}

using Forward = void(DType, const void*, void*, int64_t, int64_t, int64_t);
template <Forward* kForward>
void softmax_run(KernelFrame& f, const SoftmaxAttrs& a) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  const Tensor* x = &f.in[0];
  if (x->dtype() != y.dtype()) {
    op::copy_into(y, *x);
    x = &y;
  }
  Rows r = rows_of(y.shape(), a.axis);
  kForward(y.dtype(), x->raw(), y.raw(), r.outer, r.n, r.inner);
}

using Backward = void(DType, const void*, const void*, void*, int64_t, int64_t, int64_t);
template <Backward* kBackward>
void softmax_grad_run(KernelFrame& f, const SoftmaxGradAttrs& a) {
  const Tensor& y = f.in[0];
  if (y.numel() == 0) return;
  Rows r = rows_of(y.shape(), a.axis);
  kBackward(y.dtype(), y.raw(), f.in[1].raw(), f.out[0].raw(), r.outer, r.n, r.inner);
}

void softmax_grad_infer(op::InferContext& c, const SoftmaxGradAttrs&) {
  expect_shape(c, 1, c.in[0].shape());
  expect_dtype(c, 1, c.in[0].dtype());
}

Tensor sum_along(const Tensor& x, int64_t axis) {
  return x.rank() == 0 ? x : sum(x, op::IntArray{axis}, true);
}

// What a composition computes in: of 16-bit numbers in float32, as the kernels do.
Tensor as_computed(const Tensor& x, const SoftmaxAttrs& a) {
  const DType made = a.dtype.value_or(x.dtype());
  return cast(x, made == DType::float64 ? made : DType::float32);
}
Tensor below_largest(const Tensor& x, int64_t axis) {
  return subtract(x, x.rank() == 0 ? x : max(x, op::IntArray{axis}, true));
}

Tensors softmax_parts(const Inputs& in, const SoftmaxAttrs& a) {
  Tensor e = exp(below_largest(as_computed(in[0], a), a.axis));
  return cast(divide(e, sum_along(e, a.axis)), a.dtype.value_or(in[0].dtype()));
}
Tensors log_softmax_parts(const Inputs& in, const SoftmaxAttrs& a) {
  Tensor x = below_largest(as_computed(in[0], a), a.axis);
  return cast(subtract(x, log(sum_along(exp(x), a.axis))), a.dtype.value_or(in[0].dtype()));
}

Tensors softmax_grad_parts(const Inputs& in, const SoftmaxGradAttrs& a) {
  Tensor product = multiply(in[0], in[1]);
  return subtract(product, multiply(in[0], sum_along(product, a.axis)));
}
Tensors log_softmax_grad_parts(const Inputs& in, const SoftmaxGradAttrs& a) {
  return subtract(in[1], multiply(exp(in[0]), sum_along(in[1], a.axis)));
}

Tensors softmax_grad_second(const GradCall& c, const SoftmaxGradAttrs& a);
Tensors log_softmax_grad_second(const GradCall& c, const SoftmaxGradAttrs& a);

#define ARGOSY_SOFTMAX_GRAD(name)                                                             \
  ARGOSY_OP(name##_grad, SoftmaxGradAttrs)                                                    \
      .doc("Gradient of " #name " from its output y and the gradient of that.")               \
      .input("y", kFloating, Save::value)                                                     \
      .input("dy", kFloating, Save::value)                                                    \
      .output("dx")                                                                           \
      .infer(softmax_grad_infer)                                                              \
      .kernel("rows", softmax_grad_run<cpu::name##_grad>)                                     \
      .compose(name##_grad_parts)                                                             \
      .gradient(name##_grad_second)                                                           \
      .done();                                                                                \
  Tensors name##_grad_rule(const GradCall& c, const SoftmaxAttrs& a) {                        \
    return cast(name##_grad_op(c.out(0), c.dy(), SoftmaxGradAttrs{a.axis}), c.in[0].dtype()); \
  }

ARGOSY_SOFTMAX_GRAD(softmax)
ARGOSY_SOFTMAX_GRAD(log_softmax)

// dx = y (dy - sum(y dy)); h is its gradient.
Tensors softmax_grad_second(const GradCall& c, const SoftmaxGradAttrs& a) {
  const Tensor &y = c.in[0], &dy = c.in[1], &h = c.dy();
  Tensor to_y;
  if (c.needs(0)) {
    Tensor shifted = subtract(dy, sum_along(multiply(y, dy), a.axis));
    to_y = subtract(multiply(h, shifted), multiply(dy, sum_along(multiply(h, y), a.axis)));
  }
  return {to_y, c.needs(1) ? softmax_grad_op(y, h, a) : Tensor()};
}

// dx = dy - e^y sum(dy)
Tensors log_softmax_grad_second(const GradCall& c, const SoftmaxGradAttrs& a) {
  const Tensor &y = c.in[0], &dy = c.in[1], &h = c.dy();
  Tensor weighed = multiply(h, exp(y));
  return {c.needs(0) ? negative(multiply(weighed, sum_along(dy, a.axis))) : Tensor(),
          c.needs(1) ? subtract(h, sum_along(weighed, a.axis)) : Tensor()};
}

ARGOSY_OP(softmax, SoftmaxAttrs)
    .python("nn.functional.softmax(x, axis=-1, dtype=None, name=None, *, out=None)")
    .inplace("softmax_")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("e^x over its sum along axis. With dtype x is cast to it first.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.softmax(argosy.to_tensor([[0.0, 1.0], [2.0, 2.0]]), axis=-1).tolist()
[[0.26894, 0.73106], [0.5, 0.5]])")
    .input("x", kReal, Save::shape)
    .output("out", Save::value)
    .infer(softmax_infer)
    .kernel("rows", softmax_run<cpu::softmax>)
    .compose(softmax_parts)
    .overwrites()
    .gradient(softmax_grad_rule)
    .again()
    .amp(op::Amp::full, op::Amp::follow)
    .done();

ARGOSY_OP(log_softmax, SoftmaxAttrs)
    .python("nn.functional.log_softmax(x, axis=-1, dtype=None, name=None)")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("log(softmax(x)) along axis, computed as one. With dtype x is cast to it first.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.log_softmax(argosy.to_tensor([[0.0, 1.0], [2.0, 2.0]]), axis=-1).tolist()
[[-1.3133, -0.31326], [-0.69315, -0.69315]])")
    .input("x", kReal, Save::shape)
    .output("out", Save::value)
    .infer(softmax_infer)
    .kernel("rows", softmax_run<cpu::log_softmax>)
    .compose(log_softmax_parts)
    .gradient(log_softmax_grad_rule)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  return softmax_op(x, SoftmaxAttrs{axis, {}});
}
Tensor softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis) {
  return softmax_grad_op(y, dy, SoftmaxGradAttrs{axis});
}
Tensor log_softmax(const Tensor& x, int64_t axis) {
  return log_softmax_op(x, SoftmaxAttrs{axis, {}});
}

}  // namespace argosy::ops
