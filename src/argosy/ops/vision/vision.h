#pragma once

#include "argosy/kernels/cpu/interp.h"
#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

// Attributes of ops on images, and what their kernels of every device read of shapes.
namespace argosy::ops {

struct CorrelationAttrs {
  int64_t pad_size = 0;
  int64_t kernel_size = 1;
  int64_t max_displacement = 0;
  int64_t stride1 = 1;
  int64_t stride2 = 1;
  int64_t corr_type_multiply = 1;
};
ARGOSY_ATTRS(CorrelationAttrs, pad_size, kernel_size, max_displacement, stride1, stride2,
             corr_type_multiply)

struct InterpAttrs {
  op::IntArray size;          // empty: use scale
  std::vector<double> scale;  // one for each spatial axis, or one for all
  std::string mode = "nearest";
  bool align_corners = false;
  int64_t align_mode = 0;  // linear modes without align_corners: 0 centres, 1 corners of pixels
  bool cl = false;
  bool antialias = false;
};
ARGOSY_ATTRS(InterpAttrs, size, scale, mode, align_corners, align_mode, cl, antialias)
ARGOSY_API cpu::InterpMode interp_mode(const std::string& mode);
ARGOSY_API cpu::InterpShape interp_kernel_shape(const Shape& x, const Shape& y,
                                                const InterpAttrs& a);
// Raises for an x without elements, of which nothing can be made.
ARGOSY_API void check_not_empty(const Shape& x, const Shape& y);

struct UnfoldAttrs {
  std::vector<int64_t> kernel, stride, padding, dilation;  // padding: top, left, bottom, right
};
ARGOSY_ATTRS(UnfoldAttrs, kernel, stride, padding, dilation)

struct FoldAttrs {
  std::vector<int64_t> output_size, kernel, stride, padding, dilation;
};
ARGOSY_ATTRS(FoldAttrs, output_size, kernel, stride, padding, dilation)

struct UnfoldGeometry {
  int64_t planes, height, width, rows, columns;  // rows, columns of windows
};
ARGOSY_API UnfoldGeometry unfold_geometry(const char* op, const UnfoldAttrs& a, const Shape& image);

struct AffineBaseAttrs {
  op::IntArray out_shape;  // [N, C, spatial..]
  bool align_corners = true;
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(AffineBaseAttrs, out_shape, align_corners, dtype)

struct SampleAttrs {
  std::string mode = "bilinear";
  std::string padding_mode = "zeros";
  bool align_corners = true;
};
ARGOSY_ATTRS(SampleAttrs, mode, padding_mode, align_corners)

struct SlopeAttrs {
  std::string mode = "bilinear";
  std::string padding_mode = "zeros";
  bool align_corners = true;
  bool pixels = false;               // points are places of elements, not parts of [-1, 1]
  std::vector<int64_t> coordinates;  // by which is differentiated, each once
};
ARGOSY_ATTRS(SlopeAttrs, mode, padding_mode, align_corners, pixels, coordinates)

}  // namespace argosy::ops
