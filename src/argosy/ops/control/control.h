#pragma once

#include "argosy/op/attrs.h"

// Tensor arrays: lists of tensors as values. Functional: each op returns a new array, whose memory
// a plan shares with the old one where nobody reads that again.
namespace argosy::ops {

// A concrete array of these elements.
ARGOSY_API Tensor make_array(std::vector<Tensor> elements, DType dtype);

ARGOSY_API Tensor array_new(DType dtype);
// `i`: int64 of one element; x goes to place i, which may be one past the end.
ARGOSY_API Tensor array_write(const Tensor& array, const Tensor& i, const Tensor& x);
// Element i; like: its form (sizes may be unknown).
ARGOSY_API Tensor array_read(const Tensor& array, const Tensor& i, const Shape& shape, DType dtype);
// All of xs added at the end.
ARGOSY_API Tensor array_extend(const Tensor& array, std::span<const Tensor> xs);
ARGOSY_API Tensor array_length(const Tensor& array);  // int64[]
// Element by element; a missing element counts as zero.
ARGOSY_API Tensor array_add(const Tensor& x, const Tensor& y);

}  // namespace argosy::ops
