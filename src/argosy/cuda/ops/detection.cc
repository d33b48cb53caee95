#include "argosy/ops/detection/detection.h"

#include <limits>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/checks.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/roi.h"
#include "argosy/kernels/cuda/suppress.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::DeformAttrs;
using ops::RoiAttrs;
using ops::SuppressAttrs;

RoiShape shape_of(const Tensor& x, int64_t regions, const RoiAttrs& a) {
  return {x.dim(0), regions,         x.dim(1),       x.dim(2),
          x.dim(3), a.pooled_height, a.pooled_width, a.spatial_scale};
}

// The numbers of images are from 0 on. The host waits for it.
void check_images(const KernelFrame& f, const Tensor& image, const Tensor& x) {
  const auto wrong =
      first_outside(stream_of(f), image.dtype(), image.raw(), image.numel(), 0, x.dim(0));
  ARGOSY_CHECK(!wrong, invalid_argument)
      << '[' << f.name() << "] there is no image " << *wrong << " among " << x.dim(0)
      << ". Do this: count the boxes of each image.";
}

const char* match(const op::Inputs& in, const RoiAttrs&) {
  return in[0].dtype() == in[1].dtype() ? nullptr : "images and boxes of two dtypes";
}
// dy, x, boxes, image.
const char* match_grad(const op::Inputs& in, const RoiAttrs&) {
  return in[0].dtype() == in[2].dtype() ? nullptr : "gradients and boxes of two dtypes";
}

void run_align(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &x = f.in[0], &boxes = f.in[1], &image = f.in[2], &y = f.out[0];
  check_images(f, image, x);
  roi_align(stream_of(f), x.dtype(), shape_of(x, boxes.dim(0), a), a.sampling_ratio, a.aligned,
            x.raw(), boxes.raw(), image.data<int64_t>(), y.raw());
}
void run_align_grad(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &dy = f.in[0], &boxes = f.in[2], &image = f.in[3], &dx = f.out[0];
  check_images(f, image, dx);
  roi_align_grad(stream_of(f), dx.dtype(), shape_of(dx, boxes.dim(0), a), a.sampling_ratio,
                 a.aligned, dy.raw(), boxes.raw(), image.data<int64_t>(), dx.raw());
}

void run_pool(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &x = f.in[0], &boxes = f.in[1], &image = f.in[2], &y = f.out[0];
  check_images(f, image, x);
  roi_pool(stream_of(f), x.dtype(), shape_of(x, boxes.dim(0), a), x.raw(), boxes.raw(),
           image.data<int64_t>(), y.raw(), f.out[1].data<int64_t>());
}
// dy, x, argmax, image.
void run_pool_grad(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &dy = f.in[0], &argmax = f.in[2], &image = f.in[3], &dx = f.out[0];
  check_images(f, image, dx);
  const int64_t plane = dx.dim(2) * dx.dim(3);
  const auto wrong = first_outside(stream_of(f), argmax.dtype(), argmax.raw(), argmax.numel(),
                                   std::numeric_limits<int64_t>::min(), plane);
  ARGOSY_CHECK(!wrong, invalid_argument)
      << "[roi_pool_grad] argmax must be below " << plane << ", got " << *wrong
      << ". Do this: pass what roi_pool gave.";
  roi_pool_grad(stream_of(f), dx.dtype(), shape_of(dx, image.dim(0), a), dy.raw(),
                argmax.data<int64_t>(), image.data<int64_t>(), dx.raw());
}

void run_psroi(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &x = f.in[0], &boxes = f.in[1], &image = f.in[2], &y = f.out[0];
  check_images(f, image, x);
  psroi_pool(stream_of(f), x.dtype(), shape_of(x, boxes.dim(0), a), x.raw(), boxes.raw(),
             image.data<int64_t>(), y.raw());
}
void run_psroi_grad(KernelFrame& f, const RoiAttrs& a) {
  const Tensor &dy = f.in[0], &boxes = f.in[2], &image = f.in[3], &dx = f.out[0];
  check_images(f, image, dx);
  psroi_pool_grad(stream_of(f), dx.dtype(), shape_of(dx, boxes.dim(0), a), dy.raw(), boxes.raw(),
                  image.data<int64_t>(), dx.raw());
}

// --- suppression ---

View flat_view(void* data, DType dtype, int64_t n) {
  View v;
  v.data = data;
  v.dtype = dtype;
  v.rank = 1;
  v.shape[0] = n;
  v.strides[0] = 1;
  return v;
}

const char* match_suppress(const op::Inputs& in, const SuppressAttrs&) {
  return in[0].numel() >= INT32_MAX ? "2^31 elements or more" : nullptr;
}
// The host waits for how many there are.
void run_suppress(KernelFrame& f, const SuppressAttrs& a) {
  const Tensor& boxes = f.in[0];
  const int64_t n = boxes.dim(0);
  if (n == 0) {
    f.allocate(0, {0});
    return;
  }
  cudaStream_t stream = stream_of(f);
  const Scratch kept(stream, static_cast<size_t>(n) * sizeof(int32_t)),
      found(stream, sizeof(int32_t));
  Suppression c;
  c.dtype = boxes.dtype();
  c.threshold = a.threshold;
  c.extra = a.extra;
  c.eta = a.eta;
  c.most = n;
  c.boxes = boxes.raw();
  suppress(stream, c, kept.data<int32_t>(), found.data<int32_t>());
  int32_t count = 0;
  {
    const device::HostWait wait;
    ARGOSY_CUDA(
        cudaMemcpyAsync(&count, found.data(), sizeof(count), cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  const Tensor& out = f.allocate(0, {count});
  if (count) copy(stream, view_of(out), flat_view(kept.data(), DType::int32, count));
}

// --- deformable convolution ---

DeformShape shape_of(const Tensor& x, const DeformAttrs& a) {
  DeformShape s{};
  int64_t out[2];
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = x.dim(2 + static_cast<int>(d));
    out[d] = (size + 2 * a.padding[d] - a.dilation[d] * (a.kernel[d] - 1) - 1) / a.stride[d] + 1;
    s.stride[d] = a.stride[d];
    s.padding[d] = a.padding[d];
    s.dilation[d] = a.dilation[d];
  }
  s.images = x.dim(0);
  s.channels = x.dim(1);
  s.height = x.dim(2);
  s.width = x.dim(3);
  s.kernel_height = a.kernel[0];
  s.kernel_width = a.kernel[1];
  s.out_height = out[0];
  s.out_width = out[1];
  s.groups = a.groups;
  return s;
}

const void* raw_of(const Tensor& t) {
  return t.defined() ? t.raw() : nullptr;
}

void run_columns(KernelFrame& f, const DeformAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  deform_columns(stream_of(f), x.dtype(), shape_of(x, a), x.raw(), f.in[1].raw(), raw_of(f.in[2]),
                 y.raw());
}
// dy, x, offset, mask.
void run_columns_grad(KernelFrame& f, const DeformAttrs& a) {
  const Tensor &dy = f.in[0], &x = f.in[1], &mask = f.in[3];
  deform_columns_grad(stream_of(f), dy.dtype(), shape_of(x, a), dy.raw(), x.raw(), f.in[2].raw(),
                      raw_of(mask), f.out[0].raw(), f.out[1].raw(),
                      mask.defined() ? f.out[2].raw() : nullptr);
}

[[maybe_unused]] const bool added[] = {
    add_kernel<RoiAttrs>("roi_align", match, run_align),
    add_kernel<RoiAttrs>("roi_align_grad", match_grad, run_align_grad),
    add_kernel<RoiAttrs>("roi_pool", match, run_pool),
    add_kernel<RoiAttrs>("roi_pool_grad", run_pool_grad),
    add_kernel<RoiAttrs>("psroi_pool", match, run_psroi),
    add_kernel<RoiAttrs>("psroi_pool_grad", match_grad, run_psroi_grad),
    add_kernel<SuppressAttrs>("suppress_boxes", match_suppress, run_suppress),
    add_kernel<DeformAttrs>("deform_columns", run_columns),
    add_kernel<DeformAttrs>("deform_columns_grad", run_columns_grad),
};

}  // namespace
}  // namespace argosy::cuda
