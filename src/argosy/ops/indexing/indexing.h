#pragma once

#include <span>

#include "argosy/op/attrs.h"

// NumPy's integer-array indexing, and what __getitem__ and __setitem__ are made of.
namespace argosy::ops {

// Of take_along, last_along; put_along, combine_along; take_slices, add_slices; index_get,
// index_put.
struct AlongAttrs {
  int64_t axis = 0;
};
ARGOSY_ATTRS(AlongAttrs, axis)

struct PutAlongAttrs {
  int64_t axis = 0;
  std::string reduce = "assign";
  bool include_self = true;
};
ARGOSY_ATTRS(PutAlongAttrs, axis, reduce, include_self)

struct SliceAxisAttrs {
  int64_t axis = 0;
};
ARGOSY_ATTRS(SliceAxisAttrs, axis)

struct IndexAttrs {
  std::vector<int64_t> axes;  // ascending
  bool accumulate = false;    // index_put: add instead of write
};
ARGOSY_ATTRS(IndexAttrs, axes, accumulate)

// x[.., i0, .., i1, ..]: indices[k] (int32 or int64, broadcast together) run along dimension
// axes[k]. Result: [broadcast index shape, remaining dimensions of x].
ARGOSY_API Tensor index_get(const Tensor& x, std::span<const Tensor> indices,
                            const std::vector<int64_t>& axes);
// A copy of x with value (broadcast to what index_get gives) written there, or added with
// accumulate.
ARGOSY_API Tensor index_put(const Tensor& x, const Tensor& value, std::span<const Tensor> indices,
                            const std::vector<int64_t>& axes, bool accumulate);
// condition ? x : y, broadcast; dtypes promote.
ARGOSY_API Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
// x along axis at the places of an integer tensor, whose dimensions take the place of axis.
ARGOSY_API Tensor take_slices(const Tensor& x, const Tensor& index, int64_t axis);
// x[mask]: the rows of x where mask, which has its leading dimensions, holds.
ARGOSY_API Tensor select_true(const Tensor& x, const Tensor& mask);
// One int64 vector for each dimension of mask: the places of its true elements, in C order.
ARGOSY_API Tensors mask_indices(const Tensor& mask);

}  // namespace argosy::ops
