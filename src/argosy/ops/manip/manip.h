#pragma once

#include "argosy/op/attrs.h"

namespace argosy::op {
struct Instead;
}

// Shape manipulation; views wherever strides allow.
namespace argosy::ops {

ARGOSY_API Tensor expand_like(const Tensor& x, const Tensor& like);   // broadcast to like's shape
ARGOSY_API Tensor reshape_like(const Tensor& x, const Tensor& like);  // same elements, like's shape

ARGOSY_API Tensor assign(const Tensor& x);  // a copy
// A copy of values, with the gradient of x.
ARGOSY_API Tensor with_values(const Tensor& x, const Tensor& values);
ARGOSY_API void assign_instead(op::Instead& instead, int32_t operand);

// -1 once: what is left; 0: that size of x.
ARGOSY_API Tensor reshape(const Tensor& x, const op::IntArray& shape);
ARGOSY_API Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm);
ARGOSY_API Tensor squeeze(const Tensor& x, const op::IntArray& axis);
ARGOSY_API Tensor unsqueeze(const Tensor& x, const op::IntArray& axis);
ARGOSY_API Tensor flatten(const Tensor& x, int64_t start_axis, int64_t stop_axis);
ARGOSY_API Tensor expand(const Tensor& x, const op::IntArray& shape);
// x[.., start:end:step, ..] on one axis, Python's meaning of negative and out-of-range bounds.
ARGOSY_API Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t end,
                        int64_t step = 1);
ARGOSY_API Tensor concat(std::span<const Tensor> parts, int64_t axis);
ARGOSY_API Tensor stack(std::span<const Tensor> parts, int64_t axis);
// The same with bounds that may be symbols.
ARGOSY_API Tensor slice(const Tensor& x, int64_t axis, const op::IntArray& start,
                        const op::IntArray& end);
// x[.., index, ..]: one place of axis, which is gone.
ARGOSY_API Tensor pick(const Tensor& x, int64_t axis, int64_t index);
// The diagonals of the last two dimensions as the last one, and back.
ARGOSY_API Tensor diagonal(const Tensor& x);
ARGOSY_API Tensor diag_embed(const Tensor& x);
// sizes: lengths of the parts along axis.
ARGOSY_API Tensors split(const Tensor& x, const op::IntArray& sizes, int64_t axis);

// Sizes that may be unknown while a Program is built: the size of an axis as one more number of a
// shape (a symbol if it is unknown), and as a 0-d tensor.
ARGOSY_API void push_size(op::IntArray& shape, const Tensor& x, int axis);
ARGOSY_API op::IntArray size_along(const Tensor& x, int axis);
ARGOSY_API Tensor size_of(const Tensor& x, int axis, DType dtype);
// x, of which only a run knows the sizes that are -1 in `sizes`.
ARGOSY_API Tensor forget_sizes(const Tensor& x, std::span<const int64_t> sizes);
ARGOSY_API Tensor numel_of(const Tensor& x);  // 0-d int64

}  // namespace argosy::ops
