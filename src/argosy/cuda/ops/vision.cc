#include "argosy/ops/vision/vision.h"

#include "argosy/cuda/call.h"
#include "argosy/cuda/channels_last.h"
#include "argosy/kernels/cuda/interp.h"
#include "argosy/kernels/cuda/sample.h"
#include "argosy/kernels/cuda/unfold.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;

// --- interpolate ---

InterpShape shape_of(const Shape& x, const Shape& y, const ops::InterpAttrs& a) {
  const cpu::InterpShape given = ops::interp_kernel_shape(x, y, a);
  InterpShape s;
  s.parts = given.channels_last ? given.batch : given.batch * given.channels;
  s.lanes = given.channels_last ? given.channels : 1;
  s.align_corners = given.align_corners;
  s.half_pixel = given.half_pixel;
  s.antialias = given.antialias;
  for (int d = 0; d < given.dims; ++d) {
    const int at = 3 - given.dims + d;
    s.in[at] = given.in[d];
    s.out[at] = given.out[d];
    s.scale[at] = given.scale[d];
  }
  return s;
}

InterpMode mode_of(const ops::InterpAttrs& a) {
  switch (ops::interp_mode(a.mode)) {
    case cpu::InterpMode::nearest:
      return InterpMode::nearest;
    case cpu::InterpMode::linear:
      return InterpMode::linear;
    default:
      return InterpMode::cubic;
  }
}

// Images whose channels lie last are resized as they lie, into such.
void take_last(InterpShape& s, const Tensor& x) {
  s.parts = x.dim(0);
  s.lanes = x.dim(1);
}

void run_interpolate(KernelFrame& f, const ops::InterpAttrs& a) {
  Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  ops::check_not_empty(f.in[0].shape(), y.shape());
  InterpShape s = shape_of(f.in[0].shape(), y.shape(), a);
  const bool last = !a.cl && lies_last(f.in[0]) && may_lie_last(y);
  const Tensor x = last ? f.in[0] : op::contiguous(f.in[0]);
  if (last) take_last(s, x);
  interp(stream_of(f), x.dtype(), mode_of(a), s, x.raw(), y.raw());
  if (last) lay_last(y);
}

void run_interpolate_grad(KernelFrame& f, const ops::InterpAttrs& a) {
  Tensor& dx = f.out[0];
  if (dx.numel() == 0) return;
  InterpShape s = shape_of(dx.shape(), f.in[0].shape(), a);
  const bool last = !a.cl && lies_last(f.in[0]) && may_lie_last(dx);
  const Tensor dy = last ? f.in[0] : op::contiguous(f.in[0]);
  if (last) take_last(s, dx);
  interp_backward(stream_of(f), dx.dtype(), mode_of(a), s, dy.raw(), dx.raw());
  if (last) lay_last(dx);
}

// --- unfold, fold ---

UnfoldShape shape_of(const KernelFrame& f, const ops::UnfoldAttrs& a, const Shape& image) {
  const ops::UnfoldGeometry g = ops::unfold_geometry(f.name(), a, image);
  UnfoldShape s;
  s.planes = g.planes;
  s.height = g.height;
  s.width = g.width;
  s.rows = g.rows;
  s.columns = g.columns;
  for (size_t d = 0; d < 2; ++d) {
    s.kernel[d] = a.kernel[d];
    s.stride[d] = a.stride[d];
    s.pad[d] = a.padding[d];
    s.dilation[d] = a.dilation[d];
  }
  return s;
}

void run_unfold(KernelFrame& f, const ops::UnfoldAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  unfold(stream_of(f), x.dtype(), shape_of(f, a, x.shape()), x.raw(), y.raw());
}
void run_unfold_grad(KernelFrame& f, const ops::UnfoldAttrs& a) {
  const Tensor &lines = f.in[0], &image = f.out[0];
  if (image.numel() == 0) return;
  fold(stream_of(f), image.dtype(), shape_of(f, a, image.shape()), lines.raw(), image.raw());
}
void run_fold(KernelFrame& f, const ops::FoldAttrs& a) {
  run_unfold_grad(f, {a.kernel, a.stride, a.padding, a.dilation});
}

// --- grids ---

template <class A>
SampleShape shape_of(const Tensor& x, const Tensor& grid, const A& a) {
  SampleShape s;
  s.dims = x.rank() - 2;
  s.batch = x.dim(0);
  s.channels = x.dim(1);
  s.points = 1;
  for (int d = 0; d < s.dims; ++d) {
    s.size[d] = x.dim(2 + d);
    s.points *= grid.dim(1 + d);
  }
  s.nearest = a.mode == "nearest";
  s.border = a.padding_mode == "border";
  s.reflect = a.padding_mode == "reflection";
  s.align_corners = a.align_corners;
  return s;
}
SampleShape slope_shape(const Tensor& x, const Tensor& grid, const ops::SlopeAttrs& a) {
  SampleShape s = shape_of(x, grid, a);
  s.pixels = a.pixels;
  for (int64_t i : a.coordinates) s.coordinates |= 1u << i;
  return s;
}

void run_sample(KernelFrame& f, const ops::SampleAttrs& a) {
  const Tensor &x = f.in[0], &grid = f.in[1], &y = f.out[0];
  if (y.numel() == 0) return;
  sample(stream_of(f), y.dtype(), shape_of(x, grid, a), x.raw(), grid.raw(), y.raw());
}
void run_sample_grad(KernelFrame& f, const ops::SampleAttrs& a) {
  const Tensor &x = f.in[0], &grid = f.in[1], &dy = f.in[2], &dx = f.out[0], &dgrid = f.out[1];
  const cudaStream_t stream = stream_of(f);
  if (dx.numel() == 0 || dgrid.numel() == 0) {
    for (const Tensor& t : f.out)
      if (t.numel())
        ARGOSY_CUDA(cudaMemsetAsync(t.raw(), 0, static_cast<size_t>(t.nbytes()), stream));
    return;
  }
  const SampleShape s = shape_of(x, grid, a);
  sample_spread(stream, dx.dtype(), s, grid.raw(), dy.raw(), dx.raw());
  sample_grid_gradient(stream, dx.dtype(), s, x.raw(), grid.raw(), dy.raw(), dgrid.raw());
}

void run_slope(KernelFrame& f, const ops::SlopeAttrs& a) {
  const Tensor &x = f.in[0], &grid = f.in[1], &y = f.out[0];
  if (y.numel() == 0) return;
  sample(stream_of(f), y.dtype(), slope_shape(x, grid, a), x.raw(), grid.raw(), y.raw());
}
void run_slope_spread(KernelFrame& f, const ops::SlopeAttrs& a) {
  const Tensor &grid = f.in[1], &dy = f.in[2], &dx = f.out[0];
  if (dx.numel() == 0) return;
  sample_spread(stream_of(f), dx.dtype(), slope_shape(dx, grid, a), grid.raw(), dy.raw(), dx.raw());
}
const char* one_dtype(const op::Inputs& in, const ops::SlopeAttrs&) {
  return in[0].dtype() == in[1].dtype() ? nullptr : "images and points of two dtypes";
}

void run_base(KernelFrame& f, const ops::AffineBaseAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  affine_base(stream_of(f), out.dtype(), out.rank() - 1, out.shape().data(), a.align_corners,
              out.raw());
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::InterpAttrs>("interpolate", run_interpolate, /*strided=*/true),
    add_kernel<ops::InterpAttrs>("interpolate_grad", run_interpolate_grad, /*strided=*/true),
    add_kernel<ops::UnfoldAttrs>("unfold", run_unfold),
    add_kernel<ops::UnfoldAttrs>("unfold_grad", run_unfold_grad),
    add_kernel<ops::FoldAttrs>("fold", run_fold),
    add_kernel<ops::SampleAttrs>("grid_sample", run_sample),
    add_kernel<ops::SampleAttrs>("grid_sample_grad", run_sample_grad),
    add_kernel<ops::SlopeAttrs>("grid_slope", one_dtype, run_slope),
    add_kernel<ops::SlopeAttrs>("grid_slope_spread", one_dtype, run_slope_spread),
    add_kernel<ops::AffineBaseAttrs>("affine_base_grid", run_base),
};

}  // namespace
}  // namespace argosy::cuda
