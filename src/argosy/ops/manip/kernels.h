#pragma once

#include "argosy/op/attrs.h"
#include "argosy/op/op.h"

// Attributes of the ops of this family, and those of its kernels that only copy: they run wherever
// op::copy_into copies, on the calling thread's stream of the operands' place.
namespace argosy::ops {

// --- join.cc: concat, split_like, stack; unbind, unstack ---

struct JoinAxisAttrs {
  op::IntArray axis = op::IntArray::one(0);
};
ARGOSY_ATTRS(JoinAxisAttrs, axis)

struct UnbindAttrs {
  int64_t axis = 0;
};
ARGOSY_ATTRS(UnbindAttrs, axis)

ARGOSY_API void concat_run(op::KernelFrame& f, const JoinAxisAttrs& a);
ARGOSY_API void split_like_run(op::KernelFrame& f, const JoinAxisAttrs& a);
ARGOSY_API void stack_run(op::KernelFrame& f, const JoinAxisAttrs& a);
ARGOSY_API void unbind_nothing(op::KernelFrame& f, const UnbindAttrs& a);

// --- slice.cc: slice, slice_grad, set_slice ---

struct SliceAttrs {
  std::vector<int64_t> axes;
  op::IntArray starts, ends;
  std::vector<int64_t> strides;        // empty: all 1
  std::vector<int64_t> decrease_axis;  // axes of size 1 that are dropped afterwards
};
ARGOSY_ATTRS(SliceAttrs, axes, starts, ends, strides, decrease_axis)

// The slice of x.
ARGOSY_API Tensor slice_view(const Tensor& x, const SliceAttrs& a);

// --- views.cc: reshape; squeeze, unsqueeze; flatten ---

struct ReshapeAttrs {
  op::IntArray shape;
};
ARGOSY_ATTRS(ReshapeAttrs, shape)

struct SqueezeAttrs {
  op::IntArray axis = op::IntArray::all();
};
ARGOSY_ATTRS(SqueezeAttrs, axis)

struct FlattenAttrs {
  int64_t start_axis = 0;
  int64_t stop_axis = -1;
};
ARGOSY_ATTRS(FlattenAttrs, start_axis, stop_axis)

// Of all of them: x, which is contiguous, into the shape of the result.
ARGOSY_API void copy_elements(const op::KernelFrame& f);

// --- meta.cc ---

struct ViewDtypeAttrs {
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(ViewDtypeAttrs, dtype)

// x, which is contiguous, read as another dtype.
ARGOSY_API Tensor view_dtype_view(const Tensor& x, const ViewDtypeAttrs& a);

// --- like.cc: assign, expand_like; reshape_like ---

ARGOSY_API void copy_run(op::KernelFrame& f, const op::NoAttrs& a);
ARGOSY_API void reshape_like_run(op::KernelFrame& f, const op::NoAttrs& a);

// --- rearrange.cc ---

struct FlipAttrs {
  op::IntArray axis = op::IntArray::all();
};
ARGOSY_ATTRS(FlipAttrs, axis)

struct RollAttrs {
  op::IntArray shifts;
  op::IntArray axis = op::IntArray::all();
};
ARGOSY_ATTRS(RollAttrs, shifts, axis)

struct TileAttrs {
  op::IntArray repeat_times;
};
ARGOSY_ATTRS(TileAttrs, repeat_times)

struct TileGradAttrs {
  op::IntArray repeat_times;
};
ARGOSY_ATTRS(TileGradAttrs, repeat_times)

struct DiagonalAttrs {
  int64_t offset = 0;
  int64_t axis1 = 0;
  int64_t axis2 = 1;
};
ARGOSY_ATTRS(DiagonalAttrs, offset, axis1, axis2)

struct DiagEmbedAttrs {
  int64_t offset = 0;
  int64_t dim1 = -2;
  int64_t dim2 = -1;
};
ARGOSY_ATTRS(DiagEmbedAttrs, offset, dim1, dim2)

struct AsStridedAttrs {
  std::vector<int64_t> shape, stride;
  int64_t offset = 0;
};
ARGOSY_ATTRS(AsStridedAttrs, shape, stride, offset)

struct RepeatInterleaveAttrs {
  int64_t axis = 0;
};
ARGOSY_ATTRS(RepeatInterleaveAttrs, axis)

ARGOSY_API void flip_run(op::KernelFrame& f, const FlipAttrs& a);
ARGOSY_API void roll_run(op::KernelFrame& f, const RollAttrs& a);
ARGOSY_API void tile_run(op::KernelFrame& f, const TileAttrs& a);
ARGOSY_API void tile_grad_run(op::KernelFrame& f, const TileGradAttrs& a);
// The diagonal of x.
ARGOSY_API Tensor diagonal_view(const Tensor& x, const DiagonalAttrs& a);
ARGOSY_API void diagonal_scatter_run(op::KernelFrame& f, const DiagonalAttrs& a);

}  // namespace argosy::ops
