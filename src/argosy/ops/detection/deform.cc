#include <cstring>

#include "argosy/kernels/cpu/roi.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/detection/detection.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/vision/slopes.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

int64_t out_size(const Tensor& x, const DeformAttrs& a, int d) {
  const int64_t size = x.dim(2 + d);
  if (size < 0) return kUnknown;
  const size_t i = static_cast<size_t>(d);
  return (size + 2 * a.padding[i] - a.dilation[i] * (a.kernel[i] - 1) - 1) / a.stride[i] + 1;
}

// The shape of the columns.
Shape columns_shape(const Tensor& x, const Tensor& offset, const Tensor& mask,
                    const DeformAttrs& a) {
  ARGOSY_CHECK(x.rank() == 4 && offset.rank() == 4 && (!mask.defined() || mask.rank() == 4),
               invalid_argument)
      << "[deform_conv2d] x, offset and mask must have 4 dimensions, got " << x << " and " << offset
      << ". Do this: reshape them.";
  bool given = a.kernel.size() == 2 && a.stride.size() == 2 && a.padding.size() == 2 &&
               a.dilation.size() == 2 && a.groups > 0;
  for (size_t i = 0; given && i < 2; ++i)
    given = a.kernel[i] > 0 && a.stride[i] > 0 && a.padding[i] >= 0 && a.dilation[i] > 0;
  ARGOSY_CHECK(given, invalid_argument)
      << "[deform_conv2d] kernel, stride, padding and dilation must be two numbers each, padding 0 "
         "or more, the others and deformable_groups 1 or more. Do this: pass one int or two for "
         "each.";
  const int64_t taps = a.kernel[0] * a.kernel[1], rows = out_size(x, a, 0),
                columns = out_size(x, a, 1);
  auto fits = [&](const Tensor& t, int64_t channels) {
    auto same = [](int64_t p, int64_t q) { return p == q || p < 0 || q < 0; };
    return same(t.dim(0), x.dim(0)) && same(t.dim(1), channels) && same(t.dim(2), rows) &&
           same(t.dim(3), columns);
  };
  ARGOSY_CHECK(fits(offset, 2 * a.groups * taps), invalid_argument)
      << "[deform_conv2d] offset must have two numbers for each of " << a.groups << " groups and "
      << taps << " kernel elements at " << rows << " by " << columns << " places, got " << offset
      << ". Do this: make it with a convolution of the same stride and padding.";
  ARGOSY_CHECK(!mask.defined() || fits(mask, a.groups * taps), invalid_argument)
      << "[deform_conv2d] mask must have a number for each of " << a.groups << " groups and "
      << taps << " kernel elements at " << rows << " by " << columns << " places, got " << mask
      << ". Do this: make it with a convolution of the same stride and padding.";
  ARGOSY_CHECK(x.dim(1) % a.groups == 0 || x.dim(1) < 0, invalid_argument)
      << "[deform_conv2d] the channels of x must be a multiple of deformable_groups " << a.groups
      << ", got " << x << ". Do this: change one of them.";
  const bool known = rows >= 0 && columns >= 0;
  return {x.dim(0), x.dim(1) < 0 ? kUnknown : x.dim(1) * taps, known ? rows * columns : kUnknown};
}

void columns_infer(InferContext& c, const DeformAttrs& a) {
  for (size_t i : {1, 2}) expect_dtype(c, i, c.in[0].dtype());
  c.out[0].shape = columns_shape(c.in[0], c.in[1], c.in[2], a);
}

cpu::DeformShape shape_of(const Tensor& x, const DeformAttrs& a) {
  return {x.dim(0),
          x.dim(1),
          x.dim(2),
          x.dim(3),
          a.kernel[0],
          a.kernel[1],
          out_size(x, a, 0),
          out_size(x, a, 1),
          {a.stride[0], a.stride[1]},
          {a.padding[0], a.padding[1]},
          {a.dilation[0], a.dilation[1]},
          a.groups};
}

template <class T>
const T* optional_data(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

void columns_run(KernelFrame& f, const DeformAttrs& a) {
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    cpu::deform_columns(f.in[0].data<T>(), f.in[1].data<T>(), optional_data<T>(f.in[2]),
                        f.out[0].data<T>(), shape_of(f.in[0], a));
  });
}

// Inputs: dy, x, offset, mask. Without a mask its gradient is empty.
void grad_infer(InferContext& c, const DeformAttrs& a) {
  expect_shape(c, 0, columns_shape(c.in[1], c.in[2], c.in[3], a));
  const DType t = c.in[0].dtype();
  for (size_t i = 1; i < 4; ++i) expect_dtype(c, i, t);
  c.out[0] = {c.in[1].shape(), t};
  c.out[1] = {c.in[2].shape(), t};
  c.out[2] = {c.in[3].defined() ? c.in[3].shape() : Shape{0}, t};
}
void grad_run(KernelFrame& f, const DeformAttrs& a) {
  dispatch_types<float, double>(f.in[0].dtype(), [&]<class T>(T) {
    std::memset(f.out[0].raw(), 0, f.out[0].nbytes());
    cpu::deform_columns_grad(f.in[0].data<T>(), f.in[1].data<T>(), f.in[2].data<T>(),
                             optional_data<T>(f.in[3]), f.out[0].data<T>(), f.out[1].data<T>(),
                             f.in[3].defined() ? f.out[2].data<T>() : nullptr,
                             shape_of(f.in[1], a));
  });
}

// Where each element of the kernel looks without offsets: [taps, 2 (y, x), rows, columns].
Tensor places_without_offset(int64_t rows, int64_t columns, const DeformAttrs& a) {
  Tensor t = Tensor::empty({a.kernel[0] * a.kernel[1], 2, rows, columns}, DType::float64);
  double* to = t.data<double>();
  for (int64_t k = 0; k < t.dim(0); ++k)
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t tap = axis == 0 ? k / a.kernel[1] : k % a.kernel[1];
      for (int64_t i = 0; i < rows * columns; ++i) {
        const int64_t at = axis == 0 ? i / columns : i % columns;
        *to++ = static_cast<double>(at * a.stride[axis] - a.padding[axis] + tap * a.dilation[axis]);
      }
    }
  return t;
}

// The same as samples of images at points, group by group, which can be differentiated again.
Tensors grad_parts(const op::Inputs& in, const DeformAttrs& a) {
  const Tensor &dy = in[0], &x = in[1], &offset = in[2], &mask = in[3];
  const int64_t rows = out_size(x, a, 0), columns = out_size(x, a, 1), channels = x.dim(1);
  ARGOSY_CHECK(rows >= 0 && columns >= 0 && channels >= 0, not_implemented)
      << "[deform_conv2d] the gradient of its gradient needs to know the sizes of images while a "
         "Program is built, got "
      << x << ". Do this: give x sizes (in InputSpec or static.data).";
  const int64_t taps = a.kernel[0] * a.kernel[1], share = channels / a.groups;
  auto spread = [&](const Tensor& t, std::initializer_list<int64_t> shape) {
    return reshape(t, IntArray(shape));
  };
  // [images * groups, channels of a group or 1, ..]
  const Tensor images = spread(x, {-1, share, x.dim(2), x.dim(3)});
  const Tensor d = spread(dy, {-1, share, taps * rows, columns});
  const Tensor places = add(spread(offset, {-1, taps, 2, rows, columns}),
                            cast(places_without_offset(rows, columns, a), offset.dtype()));
  const Tensor xy[] = {pick(places, 2, 1), pick(places, 2, 0)};
  const Tensor points = flatten(stack(xy, -1), 1, 2);
  const Tensor factor = mask.defined() ? spread(mask, {-1, 1, taps * rows, columns}) : Tensor();
  const Tensor scaled = mask.defined() ? multiply(d, factor) : d;
  auto by = [&](int64_t coordinate) {
    Tensor s = sum(multiply(scaled, slope_at_pixels(images, points, {coordinate})), IntArray{1});
    return spread(s, {-1, taps, rows, columns});
  };
  const Tensor yx[] = {by(1), by(0)};
  Tensors out{reshape_like(spread_at_pixels(images, points, scaled), x),
              reshape_like(stack(yx, 2), offset)};
  out.push_back(mask.defined() ? reshape_like(sum(multiply(d, slope_at_pixels(images, points, {})),
                                                  IntArray{1}, true),
                                              mask)
                               : full(IntArray{0}, op::Scalar(0.0), x.dtype()));
  return out;
}

ARGOSY_OP(deform_columns_grad, DeformAttrs)
    .doc("The gradients of deform_columns with respect to the images, the offsets and the mask.")
    .input("dy", kWide)
    .input("x", kWide)
    .input("offset", kWide)
    .optional_input("mask", kWide)
    .output("dx")
    .output("doffset")
    .output("dmask")
    .infer(grad_infer)
    .kernel("groups", grad_run)
    .compose(grad_parts)
    .done();

Tensors columns_grad(const GradCall& c, const DeformAttrs& a) {
  Tensors found = deform_columns_grad_op.all({c.dy(), c.in[0], c.in[1], c.in[2]}, a);
  return {found[0], found[1], c.in[2].defined() ? found[2] : Tensor()};
}

ARGOSY_OP(deform_columns, DeformAttrs)
    .doc(
        "Columns [N, C kh kw, places] of images sampled at the elements of a kernel moved by "
        "offset "
        "[N, 2 groups kh kw, oh, ow], times mask (Dai et al., Deformable ConvNets).")
    .input("x", kWide, Save::value)
    .input("offset", kWide, Save::value)
    .optional_input("mask", kWide, Save::value)
    .output("out")
    .promote()
    .infer(columns_infer)
    .kernel("planes", columns_run)
    .gradient(columns_grad)
    .done();

}  // namespace
}  // namespace argosy::ops
