#include "argosy/kernels/cpu/interp.h"

#include <algorithm>
#include <cmath>

#include "argosy/op/define.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/vision/vision.h"

// interpolate and its gradient: a linear map and its transpose, so that any order of gradient stays
// among the two.
namespace argosy::ops {
namespace {

double scale_of(const InterpAttrs& a, int d) {
  if (a.scale.empty()) return 0;
  return a.scale[std::min(static_cast<size_t>(d), a.scale.size() - 1)];  // one, or one for each
}

}  // namespace

cpu::InterpMode interp_mode(const std::string& mode) {
  if (mode == "nearest") return cpu::InterpMode::nearest;
  if (mode == "bicubic") return cpu::InterpMode::cubic;
  ARGOSY_CHECK(mode == "linear" || mode == "bilinear" || mode == "trilinear", invalid_argument)
      << "[interpolate] mode must be 'nearest', 'linear', 'bilinear', 'trilinear' or 'bicubic', "
         "got '"
      << mode
      << "'. Do this: pass 'linear' for 3 dimensions, 'bilinear' or 'bicubic' for 4, 'trilinear' "
         "for 5.";
  return cpu::InterpMode::linear;
}

cpu::InterpShape interp_kernel_shape(const Shape& x, const Shape& y, const InterpAttrs& a) {
  cpu::InterpShape s;
  s.dims = x.rank() - 2;
  const Spatial at = spatial_of("interpolate", x, s.dims, a.cl);
  s.channels_last = a.cl;
  s.batch = x[0];
  s.channels = x[at.channel];
  s.align_corners = a.align_corners;
  s.half_pixel = a.align_mode == 0;
  s.antialias = a.antialias;
  for (int d = 0; d < s.dims; ++d) {
    s.in[d] = x[at.first + d];
    s.out[d] = y[at.first + d];
    s.scale[d] = scale_of(a, d);
  }
  return s;
}

void check_not_empty(const Shape& x, const Shape& y) {
  ARGOSY_CHECK(x.numel() > 0, invalid_argument)
      << "[interpolate] cannot make " << y << " from x " << x << ", which has no elements.";
}

namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

Shape interpolated_shape(const Tensor& x, const InterpAttrs& a) {
  const int dims = x.rank() - 2;
  ARGOSY_CHECK(dims >= 1 && dims <= 3, invalid_argument)
      << "[interpolate] x must have 3 to 5 dimensions, got " << x
      << ". Do this: unsqueeze x to [N, C, ..].";
  ARGOSY_CHECK(kFloating.has(x.dtype()) || a.mode == "nearest", type)
      << "[interpolate] mode '" << a.mode << "' takes floating tensors, got " << x.dtype()
      << ". Do this: cast x, or use mode='nearest'.";
  const Spatial s = spatial_of("interpolate", x.shape(), dims, a.cl);
  const bool sized = !a.size.none && a.size.size() > 0;
  const bool scaled = a.scale.size() == 1 || static_cast<int>(a.scale.size()) == dims;
  ARGOSY_CHECK(scaled || (sized && a.scale.empty()), invalid_argument)
      << "[interpolate] expected " << dims << " scales for x " << x << ", got " << a.scale.size()
      << ". Do this: pass one for each spatial axis, or one for all.";
  ARGOSY_CHECK(!sized || static_cast<int>(a.size.size()) == dims, invalid_argument)
      << "[interpolate] expected " << dims << " sizes for x " << x << ", got " << a.size.size()
      << ". Do this: pass one for each spatial axis.";
  Shape shape = x.shape();
  for (int d = 0; d < dims; ++d) {
    int64_t& n = shape[s.first + d];
    if (sized) {
      const auto i = static_cast<size_t>(d);
      bool symbol = false;
      for (const auto& v : a.size.symbols) symbol |= v.position == i;
      n = symbol ? kUnknown : a.size[i];
      ARGOSY_CHECK(symbol || n > 0, invalid_argument)
          << "[interpolate] sizes must be positive, got " << n << " for spatial axis " << d << '.';
    } else if (n >= 0) {
      // In float32, as the ratio of the kernels.
      const float size = static_cast<float>(n) * static_cast<float>(scale_of(a, d));
      n = static_cast<int64_t>(std::floor(size));
      ARGOSY_CHECK(n > 0, invalid_argument)
          << "[interpolate] scale " << scale_of(a, d) << " leaves nothing of spatial axis " << d
          << " of x " << x << ". Do this: pass a larger scale, or a size.";
    }
  }
  return shape;
}
void interpolate_infer(InferContext& c, const InterpAttrs& a) {
  c.out[0].shape = interpolated_shape(c.in[0], a);
}

void interpolate_run(KernelFrame& f, const InterpAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  check_not_empty(x.shape(), y.shape());
  cpu::interp(x.dtype(), interp_mode(a.mode), interp_kernel_shape(x.shape(), y.shape(), a), x.raw(),
              y.raw());
}

void grad_infer(InferContext& c, const InterpAttrs& a) {
  expect_shape(c, 0, interpolated_shape(c.in[1], a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
void grad_run(KernelFrame& f, const InterpAttrs& a) {
  const Tensor &dy = f.in[0], &dx = f.out[0];
  if (dx.numel() == 0) return;
  cpu::interp_backward(dx.dtype(), interp_mode(a.mode),
                       interp_kernel_shape(dx.shape(), dy.shape(), a), dy.raw(), dx.raw());
}
Tensors grad_grad(const GradCall& c, const InterpAttrs& a);

ARGOSY_OP(interpolate_grad, InterpAttrs)
    .doc("The gradient of interpolate: its transpose applied to dy.")
    .input("dy", kFloating)
    .input("x")
    .shape_only()
    .output("dx")
    .infer(grad_infer)
    .kernel("separable", grad_run)
    .gradient(grad_grad)
    .done();

Tensors interpolate_gradient(const GradCall& c, const InterpAttrs& a) {
  return interpolate_grad_op(c.dy(), c.in[0], a);
}

ARGOSY_OP(interpolate, InterpAttrs)
    .doc(
        "The spatial axes of x resized: to `size`, or by `scale`, which then also gives the ratio "
        "of the positions.")
    .shape("x [n,c,*s] -> [n,c,*s'] | x [n,*s,c] -> [n,*s',c]")
    .input("x", kReal, Save::shape)
    .output("out")
    .infer(interpolate_infer)
    .kernel("separable", interpolate_run)
    .gradient(interpolate_gradient)
    .amp(op::Amp::full)
    .done();

Tensors grad_grad(const GradCall& c, const InterpAttrs& a) {
  return {interpolate_op(c.dy(), a), Tensor()};
}

}  // namespace
}  // namespace argosy::ops
