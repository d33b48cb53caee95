#include "argosy/kernels/cpu/roi.h"

#include <cstring>

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/detection/detection.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/search/search.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

void check_operands(const char* name, const Tensor& x, const Tensor& boxes, const Tensor& image,
                    const RoiAttrs& a) {
  ARGOSY_CHECK(x.rank() == 4, invalid_argument)
      << '[' << name << "] x must be images [N, C, H, W], got " << x << ". Do this: reshape it.";
  ARGOSY_CHECK(boxes.rank() == 2 && (boxes.dim(1) == 4 || boxes.dim(1) < 0), invalid_argument)
      << '[' << name << "] boxes must be [R, 4], got " << boxes
      << ". Do this: put the boxes of all images one below the other.";
  ARGOSY_CHECK(
      image.rank() == 1 && (image.dim(0) == boxes.dim(0) || image.dim(0) < 0 || boxes.dim(0) < 0),
      invalid_argument)
      << '[' << name << "] boxes_num must add up to the number of boxes: expected " << boxes.dim(0)
      << ", got " << image.dim(0) << ". Do this: count the boxes of each image.";
  ARGOSY_CHECK(a.pooled_height > 0 && a.pooled_width > 0, invalid_argument)
      << '[' << name << "] output_size must be positive, got " << a.pooled_height << " by "
      << a.pooled_width << ". Do this: correct it.";
}

cpu::RoiShape shape_of(const Tensor& x, const Tensor& boxes, const RoiAttrs& a) {
  return {boxes.dim(0),    x.dim(1),       x.dim(2),       x.dim(3),
          a.pooled_height, a.pooled_width, a.spatial_scale};
}

// The numbers of images are from 0 on.
void check_images(const KernelFrame& f, const Tensor& image, const Tensor& x) {
  for (int64_t i = 0; i < image.numel(); ++i)
    ARGOSY_CHECK(0 <= image.data<int64_t>()[i] && image.data<int64_t>()[i] < x.dim(0),
                 invalid_argument)
        << '[' << f.name() << "] there is no image " << image.data<int64_t>()[i] << " among "
        << x.dim(0) << ". Do this: count the boxes of each image.";
}

template <class Run>
void run_float(KernelFrame& f, Run run) {
  dispatch_types<float, double>(f.in[0].dtype(), run);
}
// The boxes in the dtype of the images.
Tensor boxes_like(const Tensor& boxes, const Tensor& x) {
  if (boxes.dtype() == x.dtype()) return boxes;
  Tensor same = Tensor::empty(boxes.shape(), x.dtype());
  op::copy_into(same, boxes);
  return same;
}

void infer_pool(InferContext& c, const RoiAttrs& a) {
  check_operands(c.name(), c.in[0], c.in[1], c.in[2], a);
  c.out[0].shape = {c.in[1].dim(0), c.in[0].dim(1), a.pooled_height, a.pooled_width};
}
// Gradients: dy, x, boxes, image.
void infer_grad(InferContext& c, const RoiAttrs& a) {
  check_operands(c.name(), c.in[1], c.in[2], c.in[3], a);
  expect_shape(c, 0, {c.in[2].dim(0), c.in[1].dim(1), a.pooled_height, a.pooled_width});
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
template <class T>
T* zeroed(const Tensor& t) {
  std::memset(t.raw(), 0, t.nbytes());
  return t.data<T>();
}

// --- roi_align ---

void align_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[2], f.in[0]);
  run_float(f, [&]<class T>(T) {
    cpu::roi_align(f.in[0].data<T>(), boxes_like(f.in[1], f.in[0]).data<T>(),
                   f.in[2].data<int64_t>(), f.out[0].data<T>(), shape_of(f.in[0], f.in[1], a),
                   a.sampling_ratio, a.aligned);
  });
}
void align_max_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[2], f.in[0]);
  run_float(f, [&]<class T>(T) {
    cpu::roi_align_max(f.in[0].data<T>(), boxes_like(f.in[1], f.in[0]).data<T>(),
                       f.in[2].data<int64_t>(), f.out[0].data<T>(), shape_of(f.in[0], f.in[1], a),
                       a.sampling_ratio, a.aligned);
  });
}
void align_grad_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[3], f.in[1]);
  run_float(f, [&]<class T>(T) {
    cpu::roi_align_grad(f.in[0].data<T>(), boxes_like(f.in[2], f.in[0]).data<T>(),
                        f.in[3].data<int64_t>(), zeroed<T>(f.out[0]), shape_of(f.in[1], f.in[2], a),
                        a.sampling_ratio, a.aligned);
  });
}
Tensors align_grad_grad(const GradCall& c, const RoiAttrs& a);

ARGOSY_OP(roi_align_grad, RoiAttrs)
    .doc("The gradient of roi_align with respect to the images.")
    .input("dy", kWide)
    .input("x", kAny, Save::shape)
    .shape_only()
    .input("boxes", kWide, Save::value)
    .input("image", only(DType::int64), Save::value)
    .output("dx")
    .infer(infer_grad)
    .kernel("channels", align_grad_run)
    .gradient(align_grad_grad)
    .done();

Tensors align_grad(const GradCall& c, const RoiAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[0], c.in[1], c.in[2]};
  return {roi_align_grad_op.one(in, a), Tensor(), Tensor()};
}

ARGOSY_OP(roi_align, RoiAttrs)
    .doc(
        "Mean of bilinear samples in each of pooled_height x pooled_width cells of boxes [R, 4] in "
        "images [N, C, H, W]; image [R] is each box's image (He et al., Mask R-CNN).")
    .shape("x [n,c,h,w], boxes [r,4], image [r] -> [r,c,pooled_height,pooled_width]")
    .input("x", kWide, Save::shape)
    .input("boxes", kWide, Save::value)
    .input("image", only(DType::int64), Save::value)
    .output("out")
    .infer(infer_pool)
    .kernel("regions", align_run)
    .gradient(align_grad)
    .done();

Tensors align_grad_grad(const GradCall& c, const RoiAttrs& a) {
  return {roi_align_op(c.dy(), c.in[2], c.in[3], a), Tensor(), Tensor(), Tensor()};
}

ARGOSY_OP(roi_align_max, RoiAttrs)
    .doc(
        "As roi_align, but the largest of the samples' pixels, each times its weight, as ONNX has "
        "it. Without gradients.")
    .shape("x [n,c,h,w], boxes [r,4], image [r] -> [r,c,pooled_height,pooled_width]")
    .input("x", kWide)
    .input("boxes", kWide)
    .input("image", only(DType::int64))
    .index_output("out")
    .infer(infer_pool)
    .kernel("regions", align_max_run)
    .done();

// --- roi_pool ---

void infer_max(InferContext& c, const RoiAttrs& a) {
  infer_pool(c, a);
  c.out[1] = {c.out[0].shape, DType::int64};
}
void pool_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[2], f.in[0]);
  run_float(f, [&]<class T>(T) {
    cpu::roi_pool(f.in[0].data<T>(), boxes_like(f.in[1], f.in[0]).data<T>(),
                  f.in[2].data<int64_t>(), f.out[0].data<T>(), f.out[1].data<int64_t>(),
                  shape_of(f.in[0], f.in[1], a));
  });
}
void pool_grad_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[3], f.in[1]);
  const Tensor& argmax = f.in[2];
  const int64_t plane = f.in[1].dim(2) * f.in[1].dim(3);
  for (int64_t i = 0; i < argmax.numel(); ++i)
    ARGOSY_CHECK(argmax.data<int64_t>()[i] < plane, invalid_argument)
        << "[roi_pool_grad] argmax must be below " << plane << ", got " << argmax.data<int64_t>()[i]
        << ". Do this: pass what roi_pool gave.";
  run_float(f, [&]<class T>(T) {
    cpu::roi_pool_grad(f.in[0].data<T>(), f.in[2].data<int64_t>(), f.in[3].data<int64_t>(),
                       zeroed<T>(f.out[0]), shape_of(f.in[1], f.in[3], a));
  });
}

// dy, x, argmax, image.
void infer_max_grad(InferContext& c, const RoiAttrs& a) {
  expect_rank(c, 1, 4, 4);
  expect_rank(c, 3, 1, 1);
  const Shape pooled{c.in[3].dim(0), c.in[1].dim(1), a.pooled_height, a.pooled_width};
  expect_shape(c, 0, pooled);
  expect_shape(c, 2, pooled);
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}

// What the gradient of the gradient is at the places of the maxima; 0 where there was none.
Tensors pool_grad_grad(const GradCall& c, const RoiAttrs&) {
  const Tensor& argmax = c.in[2];
  const Tensor of_image[] = {c.in[3]};
  Tensor planes = flatten(index_get(c.dy(), of_image, {0}), 2, 3);
  Tensor places = maximum(argmax, constant(op::Scalar(int64_t{0}), DType::int64, argmax.place()));
  Tensor picked = reshape_like(take_along(planes, flatten(places, 2, 3), -1), argmax);
  return {where(equal(places, argmax), picked, zeros_like(picked)), Tensor(), Tensor(), Tensor()};
}

ARGOSY_OP(roi_pool_grad, RoiAttrs)
    .doc("The gradient of roi_pool: dy at the places of the maxima.")
    .input("dy", kWide)
    .input("x")
    .shape_only()
    .input("argmax", only(DType::int64), Save::value)
    .input("image", only(DType::int64), Save::value)
    .output("dx")
    .infer(infer_max_grad)
    .kernel("channels", pool_grad_run)
    .gradient(pool_grad_grad)
    .done();

Tensors pool_grad(const GradCall& c, const RoiAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[0], c.out(1), c.in[2]};
  return {roi_pool_grad_op.one(in, a), Tensor(), Tensor()};
}

ARGOSY_OP(roi_pool, RoiAttrs)
    .doc(
        "Maximum of each of pooled_height x pooled_width cells of boxes [R, 4] in images [N, C, H, "
        "W]; image [R] is each box's image (Girshick, Fast R-CNN).")
    .shape("x [n,c,h,w], boxes [r,4], image [r] -> [r,c,pooled_height,pooled_width]")
    .input("x", kWide, Save::shape)
    .input("boxes", kWide)
    .input("image", only(DType::int64), Save::value)
    .output("out")
    .hidden_output("argmax")
    .infer(infer_max)
    .kernel("regions", pool_run)
    .gradient(pool_grad)
    .done();

// --- psroi_pool ---

Shape psroi_shape(const Tensor& x, const Tensor& boxes, const Tensor& image, const RoiAttrs& a) {
  check_operands("psroi_pool", x, boxes, image, a);
  const int64_t cells = a.pooled_height * a.pooled_width, channels = x.dim(1);
  ARGOSY_CHECK(channels % cells == 0 || channels < 0, invalid_argument)
      << "[psroi_pool] x must have a multiple of " << cells << " channels, one for each cell, got "
      << x << ". Do this: change output_size or x.";
  return {boxes.dim(0), channels < 0 ? kUnknown : channels / cells, a.pooled_height,
          a.pooled_width};
}
void infer_psroi(InferContext& c, const RoiAttrs& a) {
  c.out[0].shape = psroi_shape(c.in[0], c.in[1], c.in[2], a);
}
void infer_psroi_grad(InferContext& c, const RoiAttrs& a) {
  expect_shape(c, 0, psroi_shape(c.in[1], c.in[2], c.in[3], a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
void psroi_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[2], f.in[0]);
  run_float(f, [&]<class T>(T) {
    cpu::psroi_pool(f.in[0].data<T>(), boxes_like(f.in[1], f.in[0]).data<T>(),
                    f.in[2].data<int64_t>(), f.out[0].data<T>(), shape_of(f.in[0], f.in[1], a));
  });
}
void psroi_grad_run(KernelFrame& f, const RoiAttrs& a) {
  check_images(f, f.in[3], f.in[1]);
  run_float(f, [&]<class T>(T) {
    cpu::psroi_pool_grad(f.in[0].data<T>(), boxes_like(f.in[2], f.in[0]).data<T>(),
                         f.in[3].data<int64_t>(), zeroed<T>(f.out[0]),
                         shape_of(f.in[1], f.in[2], a));
  });
}

Tensors psroi_grad_grad(const GradCall& c, const RoiAttrs& a);

ARGOSY_OP(psroi_pool_grad, RoiAttrs)
    .doc("The gradient of psroi_pool with respect to the images.")
    .input("dy", kWide)
    .input("x")
    .shape_only()
    .input("boxes", kWide, Save::value)
    .input("image", only(DType::int64), Save::value)
    .output("dx")
    .infer(infer_psroi_grad)
    .kernel("channels", psroi_grad_run)
    .gradient(psroi_grad_grad)
    .done();

Tensors psroi_grad(const GradCall& c, const RoiAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[0], c.in[1], c.in[2]};
  return {psroi_pool_grad_op.one(in, a), Tensor(), Tensor()};
}

ARGOSY_OP(psroi_pool, RoiAttrs)
    .doc(
        "Mean of each cell of boxes [R, 4] in images [N, C, H, W], each cell in a channel of its "
        "own; image [R] is each box's image (Dai et al., R-FCN).")
    .shape(
        "x [n,c,h,w], boxes [r,4], image [r] -> "
        "[r,c/(pooled_height*pooled_width),pooled_height,pooled_width]")
    .input("x", kWide, Save::shape)
    .input("boxes", kWide, Save::value)
    .input("image", only(DType::int64), Save::value)
    .output("out")
    .infer(infer_psroi)
    .kernel("regions", psroi_run)
    .gradient(psroi_grad)
    .done();

Tensors psroi_grad_grad(const GradCall& c, const RoiAttrs& a) {
  return {psroi_pool_op(c.dy(), c.in[2], c.in[3], a), Tensor(), Tensor(), Tensor()};
}

}  // namespace
}  // namespace argosy::ops
