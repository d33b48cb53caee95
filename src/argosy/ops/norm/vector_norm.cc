#include <cmath>

#include "argosy/kernels/cpu/reduce.h"
#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

// Norms of vectors and what is divided by them.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

void norm_infer(InferContext& c, const NormAlongAttrs& a) {
  uint32_t mask = op::axes_mask(c.name(), a.axis, c.in[0].rank());
  Shape& out = c.out[0].shape;
  for (int i = 0; i < out.rank(); ++i)
    if (mask >> i & 1) out[i] = 1;
}

void norm_run(KernelFrame& f, const NormAlongAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  const uint32_t axes = op::axes_mask(f.name(), a.axis, x.rank());
  if (out.numel() == 0) return;
  if (a.p > 0 && !std::isinf(a.p)) {
    cpu::reduce_norm(a.p, x.dtype(), x.raw(), x.shape(), x.strides().data(), axes, out.raw());
    return;
  }
  if (a.p == 0) {
    Tensor count = Tensor::empty(out.shape(), DType::int64);
    cpu::reduce(cpu::Reduce::count_nonzero, x.dtype(), x.raw(), x.shape(), x.strides().data(), axes,
                count.raw());
    op::copy_into(out, count);
    return;
  }
  op::GradMode off(false);
  const Tensor size = abs(x.detach());
  if (std::isinf(a.p)) {
    op::copy_into(out, a.p > 0 ? max(size, a.axis, true) : min(size, a.axis, true));
    return;
  }
  op::copy_into(out, pow(sum(pow(size, a.p), a.axis, true), 1 / a.p));
}

// Where the norm is 0 the gradient is taken as 0, as x is there.
Tensors norm_grad(const GradCall& c, const NormAlongAttrs& a) {
  const Tensor &x = c.in[0], &norm = c.out(0);
  Tensor safe = add(norm, scale(above(norm, 0), -1, 1));
  if (a.p == 2) return multiply(c.dy(), divide(x, safe));
  if (a.p == 0) return zeros_like(x);
  if (a.p == 1) return multiply(c.dy(), sign(x));
  if (std::isinf(a.p)) {
    Tensor reached = cast(equal(abs(x), norm), x.dtype());
    return multiply(c.dy(), multiply(sign(x), reached));
  }
  Tensor slope = multiply(sign(x), pow(divide(abs(x), safe), a.p - 1));
  return multiply(c.dy(), slope);
}

ARGOSY_OP(norm_along, NormAlongAttrs)
    .doc("The p-norm of x over axes, which stay with size 1; p may be inf, -inf or 0.")
    .input("x", kFloating, Save::value)
    .output("out", Save::value)
    .infer(norm_infer)
    .kernel("reduce", norm_run)
    .strided()
    .gradient(norm_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- F.normalize ---

struct NormalizeAttrs {
  double p = 2;
  int64_t axis = 1;
  double epsilon = 1e-12;
};
ARGOSY_ATTRS(NormalizeAttrs, p, axis, epsilon)

// A vector has but one axis, whatever `axis` says.
int axis_of(const Tensor& x, const NormalizeAttrs& a) {
  if (x.rank() == 1) return 0;
  ARGOSY_CHECK(-x.rank() <= a.axis && a.axis < x.rank(), invalid_argument)
      << "[normalize] axis must be in [" << -x.rank() << ", " << x.rank() << "), got " << a.axis
      << " for x " << x << '.';
  return normalize_axis("normalize", a.axis, x.rank());
}

void normalize_infer(InferContext& c, const NormalizeAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() > 0, invalid_argument)
      << "[normalize] x must not be 0-d. Do this: unsqueeze it.";
  axis_of(c.in[0], a);
}

Tensors normalize_run(const Inputs& in, const NormalizeAttrs& a) {
  const Tensor& x = in[0];
  Tensor norm = norm_along(x, a.p, {axis_of(x, a)});
  return divide(x, maximum(norm, full_like(norm, a.epsilon)));
}

ARGOSY_OP(normalize, NormalizeAttrs)
    .doc("x / max(p-norm of x along axis, epsilon).")
    .shape("x [*s] -> [*s]")
    .input("x", kFloating)
    .output("out")
    .infer(normalize_infer)
    .compose(normalize_run)
    .done();

// --- pairwise distance ---

struct DistanceAttrs {
  double p = 2;
  double epsilon = 1e-6;
  bool keepdim = false;
};
ARGOSY_ATTRS(DistanceAttrs, p, epsilon, keepdim)

void distance_infer(InferContext& c, const DistanceAttrs& a) {
  Shape& out = c.out[0].shape;
  out = broadcast(c.name(), c.in[0].shape(), c.in[1].shape());
  ARGOSY_CHECK(out.rank() > 0, invalid_argument)
      << "[pairwise_distance] x and y must have at least one dimension. Do this: unsqueeze them.";
  if (a.keepdim)
    out[out.rank() - 1] = 1;
  else
    out.erase(out.rank() - 1);
}

Tensors distance_parts(const Inputs& in, const DistanceAttrs& a) {
  Tensor difference = scale(subtract(in[0], in[1]), 1, a.epsilon);
  Tensor norm = norm_along(difference, a.p, {-1});
  return a.keepdim ? norm : squeeze(norm, op::IntArray{-1});
}

ARGOSY_OP(pairwise_distance, DistanceAttrs)
    .doc("The p-norm of x - y + epsilon along the last axis.")
    .shape("x [*s], y [*s] -> [*s']")
    .input("x", kFloating)
    .input("y", kFloating)
    .output("out")
    .promote()
    .infer(distance_infer)
    .compose(distance_parts)
    .done();

// --- weight norm ---

struct DimAttrs {
  int64_t dim = 0;
};
ARGOSY_ATTRS(DimAttrs, dim)

op::IntArray axes_but(const Tensor& x, int64_t dim) {
  if (dim == -1) return op::IntArray::all();
  op::IntArray axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != dim) axes.values.push_back(i);
  return axes;
}

void check_dim(const char* op, const Tensor& x, int64_t dim) {
  ARGOSY_CHECK(-1 <= dim && dim < x.rank(), invalid_argument)
      << '[' << op << "] dim must be -1 (all axes together) or an axis of " << x << ", got " << dim
      << '.';
}

Tensor norm_but(const Tensor& v, int64_t dim) {
  // One axis is left alone and there is no other: each element is its own norm.
  if (dim != -1 && v.rank() == 1) return abs(v);
  return norm_along(v, 2, axes_but(v, dim));
}

void norm_except_infer(InferContext& c, const DimAttrs& a) {
  check_dim(c.name(), c.in[0], a.dim);
  c.out[0].shape = a.dim == -1 ? Shape{} : Shape{c.in[0].dim(static_cast<int>(a.dim))};
}
Tensors norm_except_parts(const Inputs& in, const DimAttrs& a) {
  return reshape(norm_but(in[0], a.dim), a.dim == -1 ? op::IntArray{} : op::IntArray{-1});
}

ARGOSY_OP(norm_except_dim, DimAttrs)
    .doc("The Euclidean norm of v over all axes but dim; dim -1: over all, 0-d.")
    .input("v", kFloating)
    .output("out")
    .infer(norm_except_infer)
    .compose(norm_except_parts)
    .done();

void weight_norm_infer(InferContext& c, const DimAttrs& a) {
  check_dim(c.name(), c.in[0], a.dim);
}
Tensors weight_norm_parts(const Inputs& in, const DimAttrs& a) {
  const Tensor &v = in[0], &g = in[1];
  const Tensor length = norm_but(v, a.dim);
  const Tensor norm = maximum(length, full_like(length, 1e-6));  // a weight of zeros stays one
  return multiply(v, divide(reshape_like(g, norm), norm));
}

ARGOSY_OP(weight_norm, DimAttrs)
    .doc("g * v / |v|, the norm taken over all axes but dim (-1: over all).")
    .shape("v [*s], g [*g] -> [*s]")
    .paper("1602.07868")
    .input("v", kFloating)
    .input("g", kFloating)
    .output("out")
    .infer(weight_norm_infer)
    .compose(weight_norm_parts)
    .done();

}  // namespace

Tensor norm_along(const Tensor& x, double p, const op::IntArray& axes) {
  return norm_along_op(x, NormAlongAttrs{p, axes});
}

}  // namespace argosy::ops
