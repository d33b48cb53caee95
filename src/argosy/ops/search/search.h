#pragma once

#include "argosy/ops/creation/creation.h"

// Order, places and distinct values.
namespace argosy::ops {

struct IsinAttrs {
  bool assume_unique = false;  // changes nothing: what repeats costs no more here
  bool invert = false;
};
ARGOSY_ATTRS(IsinAttrs, assume_unique, invert)
struct SortAttrs {
  int64_t axis = -1;
  bool descending = false;
  bool stable = false;
};
ARGOSY_ATTRS(SortAttrs, axis, descending, stable)

struct TopkAttrs {
  op::Scalar k = int64_t{1};
  int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
};
ARGOSY_ATTRS(TopkAttrs, k, axis, largest, sorted)

struct KthAttrs {
  int64_t k = 1;
  std::optional<int64_t> axis = -1;  // none: the last
  bool keepdim = false;

  int64_t at() const { return axis.value_or(-1); }
};
ARGOSY_ATTRS(KthAttrs, k, axis, keepdim)

struct ModeAttrs {
  int64_t axis = -1;
  bool keepdim = false;
};
ARGOSY_ATTRS(ModeAttrs, axis, keepdim)

struct SearchAttrs {
  bool out_int32 = false;
  bool right = false;
};
ARGOSY_ATTRS(SearchAttrs, out_int32, right)

struct UniqueAttrs {
  bool consecutive = false;  // only neighbours are compared, order stays
  std::optional<int64_t> axis;
  DType dtype = DType::int64;
  bool only_values = false;  // leaves the other outputs empty
};
ARGOSY_ATTRS(UniqueAttrs, consecutive, axis, dtype, only_values)

// x with values added at x[.., indices[..], ..] along axis.
ARGOSY_API Tensor put_along_add(const Tensor& x, const Tensor& indices, const Tensor& values,
                                int64_t axis);
// x[.., indices[..], ..] along axis, in the shape of indices.
ARGOSY_API Tensor take_along(const Tensor& x, const Tensor& indices, int64_t axis);
// Zeros of x's shape and another dtype; reads x's shape only.
ARGOSY_API Tensor zeros_of(const Tensor& x, DType dtype);

}  // namespace argosy::ops
