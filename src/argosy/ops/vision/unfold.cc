#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/vision/vision.h"

// unfold (im2col), fold (col2im) and the gradients of both: each is the transpose of the other.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

UnfoldAttrs windows(const FoldAttrs& a) {
  return {a.kernel, a.stride, a.padding, a.dilation};
}

void check_attrs(const char* op, const UnfoldAttrs& a) {
  bool ok = a.kernel.size() == 2 && a.stride.size() == 2 && a.dilation.size() == 2 &&
            a.padding.size() == 4;
  for (size_t i = 0; ok && i < 2; ++i)
    ok = a.kernel[i] > 0 && a.stride[i] > 0 && a.dilation[i] > 0 && a.padding[i] >= 0 &&
         a.padding[i + 2] >= 0;
  ARGOSY_CHECK(ok, invalid_argument)
      << '[' << op
      << "] expected two kernel sizes, strides and dilations of 1 or more and four paddings of 0 "
         "or more. Do this: pass one int or two for each.";
}

// Number of windows along axis d (0 height, 1 width) of size in.
int64_t windows_along(const char* op, const UnfoldAttrs& a, size_t d, int64_t in) {
  if (in < 0) return kUnknown;
  const int64_t room =
      in + a.padding[d] + a.padding[d + 2] - (a.dilation[d] * (a.kernel[d] - 1) + 1);
  ARGOSY_CHECK(room >= 0, invalid_argument)
      << '[' << op << "] the window does not fit: axis " << d << " of the image has size " << in
      << " with paddings " << a.padding[d] << " and " << a.padding[d + 2] << ", the window needs "
      << a.dilation[d] * (a.kernel[d] - 1) + 1 << ". Do this: use a smaller kernel or pad more.";
  return room / a.stride[d] + 1;
}

}  // namespace

UnfoldGeometry unfold_geometry(const char* op, const UnfoldAttrs& a, const Shape& image) {
  return {image[0] * image[1], image[2], image[3], windows_along(op, a, 0, image[2]),
          windows_along(op, a, 1, image[3])};
}

namespace {

// Calls part(line, pixels, step, count): `count` elements of the unfolded line (consecutive) meet
// the pixels `step` apart; in order of the lines of one plane. Windows' elements outside the image
// come as pixels = -1.
template <class Part>
void for_lines(const UnfoldAttrs& a, const UnfoldGeometry& g, Part&& part) {
  const int64_t stride = a.stride[1];
  for (int64_t i = 0; i < a.kernel[0]; ++i)
    for (int64_t j = 0; j < a.kernel[1]; ++j) {
      const int64_t start = (i * a.kernel[1] + j) * g.rows * g.columns;
      const int64_t left = j * a.dilation[1] - a.padding[1];
      // Columns first..last-1 lie in the image.
      const int64_t first = std::min(g.columns, left < 0 ? (-left + stride - 1) / stride : 0);
      const int64_t inside = g.width - left;  // column c is in the image while c stride < inside
      const int64_t last =
          std::max(first, std::min(g.columns, inside <= 0 ? 0 : (inside + stride - 1) / stride));
      for (int64_t r = 0; r < g.rows; ++r) {
        const int64_t line = start + r * g.columns;
        const int64_t y = r * a.stride[0] + i * a.dilation[0] - a.padding[0];
        if (y < 0 || y >= g.height) {
          part(line, -1, 0, g.columns);
          continue;
        }
        part(line, -1, 0, first);
        if (last > first)
          part(line + first, y * g.width + left + first * stride, stride, last - first);
        part(line + last, -1, 0, g.columns - last);
      }
    }
}

void unfold_into(const char* op, const UnfoldAttrs& a, const Tensor& image, const Tensor& lines) {
  if (lines.numel() == 0) return;
  const UnfoldGeometry g = unfold_geometry(op, a, image.shape());
  const int64_t size = a.kernel[0] * a.kernel[1] * g.rows * g.columns;
  dispatch_types<float16, bfloat16, float, double, int32_t, int64_t>(
      image.dtype(), [&]<class T>(T) {
        parallel_for(g.planes, std::max<int64_t>(1, 32768 / size), [&](int64_t p, int64_t end) {
          for (; p < end; ++p) {
            const T* x = image.data<T>() + p * g.height * g.width;
            T* y = lines.data<T>() + p * size;
            for_lines(a, g, [&](int64_t line, int64_t pixel, int64_t step, int64_t count) {
              if (pixel < 0)
                std::fill_n(y + line, count, T(0));
              else if (step == 1)
                std::copy_n(x + pixel, count, y + line);
              else
                for (int64_t c = 0; c < count; ++c) y[line + c] = x[pixel + c * step];
            });
          }
        });
      });
}

void fold_into(const char* op, const UnfoldAttrs& a, const Tensor& lines, const Tensor& image) {
  if (image.numel() == 0) return;
  const UnfoldGeometry g = unfold_geometry(op, a, image.shape());
  const int64_t size = a.kernel[0] * a.kernel[1] * g.rows * g.columns;
  dispatch_types<float16, bfloat16, float, double, int32_t, int64_t>(
      image.dtype(), [&]<class T>(T) {
        // 16-bit floats add up in float32.
        using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
        parallel_for(g.planes, std::max<int64_t>(1, 32768 / size), [&](int64_t p, int64_t end) {
          std::vector<Sum> plane(static_cast<size_t>(g.height * g.width));
          for (; p < end; ++p) {
            std::fill(plane.begin(), plane.end(), Sum(0));
            const T* x = lines.data<T>() + p * size;
            for_lines(a, g, [&](int64_t line, int64_t pixel, int64_t step, int64_t count) {
              if (pixel < 0) return;
              Sum* to = plane.data() + pixel;
              for (int64_t c = 0; c < count; ++c) to[c * step] += static_cast<Sum>(x[line + c]);
            });
            T* y = image.data<T>() + p * g.height * g.width;
            for (size_t i = 0; i < plane.size(); ++i) y[i] = static_cast<T>(plane[i]);
          }
        });
      });
}

constexpr DTypes kFolding = kFloating | kIndex;

// --- unfold ---

Shape unfolded_shape(const Tensor& x, const UnfoldAttrs& a) {
  ARGOSY_CHECK(x.rank() == 4, invalid_argument)
      << "[unfold] x must be [batch, channels, height, width], got " << x
      << ". Do this: unsqueeze x.";
  check_attrs("unfold", a);
  const int64_t rows = windows_along("unfold", a, 0, x.dim(2));
  const int64_t columns = windows_along("unfold", a, 1, x.dim(3));
  const int64_t channels = x.dim(1);
  return {x.dim(0), channels < 0 ? kUnknown : channels * a.kernel[0] * a.kernel[1],
          rows < 0 || columns < 0 ? kUnknown : rows * columns};
}
void unfold_infer(InferContext& c, const UnfoldAttrs& a) {
  c.out[0].shape = unfolded_shape(c.in[0], a);
}
void unfold_run(KernelFrame& f, const UnfoldAttrs& a) {
  unfold_into("unfold", a, f.in[0], f.out[0]);
}

void unfold_grad_infer(InferContext& c, const UnfoldAttrs& a) {
  expect_shape(c, 0, unfolded_shape(c.in[1], a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
void unfold_grad_run(KernelFrame& f, const UnfoldAttrs& a) {
  fold_into("unfold", a, f.in[0], f.out[0]);
}
Tensors unfold_grad_grad(const GradCall& c, const UnfoldAttrs& a);

ARGOSY_OP(unfold_grad, UnfoldAttrs)
    .doc("The gradient of unfold: dy added up where the windows were taken.")
    .input("dy", kFloating)
    .input("x")
    .shape_only()
    .output("dx")
    .infer(unfold_grad_infer)
    .kernel("planes", unfold_grad_run)
    .gradient(unfold_grad_grad)
    .done();

Tensors unfold_gradient(const GradCall& c, const UnfoldAttrs& a) {
  return unfold_grad_op(c.dy(), c.in[0], a);
}

ARGOSY_OP(unfold, UnfoldAttrs)
    .doc(
        "The windows of images [batch, channels, height, width] as columns: [batch, channels * "
        "window size, windows], zeros outside the image.")
    .shape("x [n,c,h,w] -> [n,k',l']")
    .input("x", kFolding, Save::shape)
    .output("out")
    .infer(unfold_infer)
    .kernel("planes", unfold_run)
    .gradient(unfold_gradient)
    .done();

Tensors unfold_grad_grad(const GradCall& c, const UnfoldAttrs& a) {
  return {unfold_op(c.dy(), a), Tensor()};
}

// --- fold ---

void fold_infer(InferContext& c, const FoldAttrs& a) {
  const Tensor& x = c.in[0];
  const UnfoldAttrs w = windows(a);
  check_attrs("fold", w);
  ARGOSY_CHECK(x.rank() == 3 && a.output_size.size() == 2, invalid_argument)
      << "[fold] x must be [batch, channels * window size, windows] and output_size two numbers, "
         "got "
      << x << " and " << a.output_size.size()
      << " numbers. Do this: pass what unfold gave, and the images' height and width.";
  const int64_t window = a.kernel[0] * a.kernel[1];
  const int64_t count =
      windows_along("fold", w, 0, a.output_size[0]) * windows_along("fold", w, 1, a.output_size[1]);
  ARGOSY_CHECK(x.dim(1) < 0 || x.dim(1) % window == 0, invalid_argument)
      << "[fold] axis 1 of x must be a multiple of the window size " << window << ", got " << x
      << ". Do this: check kernel_sizes; unfold gives channels * window size.";
  ARGOSY_CHECK(x.dim(2) < 0 || x.dim(2) == count, invalid_argument)
      << "[fold] an image of " << a.output_size[0] << " by " << a.output_size[1] << " has " << count
      << " windows, axis 2 of x has " << x.dim(2)
      << ". Do this: give output_sizes and paddings as unfold had them.";
  c.out[0].shape = {x.dim(0), x.dim(1) < 0 ? kUnknown : x.dim(1) / window, a.output_size[0],
                    a.output_size[1]};
}
void fold_run(KernelFrame& f, const FoldAttrs& a) {
  fold_into("fold", windows(a), f.in[0], f.out[0]);
}
Tensors fold_gradient(const GradCall& c, const FoldAttrs& a) {
  return unfold_op(c.dy(), windows(a));
}

ARGOSY_OP(fold, FoldAttrs)
    .doc(
        "Columns [batch, channels * window size, windows] added up into images [batch, channels, "
        "height, width] at the places where unfold takes them.")
    .shape("x [n,k,l] -> [n,c',h',w']")
    .input("x", kFolding)
    .output("out")
    .infer(fold_infer)
    .kernel("planes", fold_run)
    .gradient(fold_gradient)
    .done();

}  // namespace
}  // namespace argosy::ops
