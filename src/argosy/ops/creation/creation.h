#pragma once

#include "argosy/op/attrs.h"

// Tensors from nothing or from the form of another.
namespace argosy::ops {

struct FullAttrs {
  op::IntArray shape;
  op::Scalar fill_value = 0.0;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(FullAttrs, shape, fill_value, dtype)

struct FilledAttrs {
  op::IntArray shape;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(FilledAttrs, shape, dtype)

struct FullLikeAttrs {
  op::Scalar fill_value = 0.0;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(FullLikeAttrs, fill_value, dtype)

struct LikeAttrs {
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(LikeAttrs, dtype)

struct ArangeAttrs {
  op::Scalar start = int64_t{0};
  std::optional<op::Scalar> end;
  op::Scalar step = int64_t{1};
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(ArangeAttrs, start, end, step, dtype)

struct LinspaceAttrs {
  op::Scalar start, stop;
  op::Scalar num = int64_t{100};
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(LinspaceAttrs, start, stop, num, dtype)

struct LogspaceAttrs {
  op::Scalar start, stop;
  op::Scalar num = int64_t{100};
  op::Scalar base = 10.0;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(LogspaceAttrs, start, stop, num, base, dtype)

struct EyeAttrs {
  int64_t num_rows = 0;
  std::optional<int64_t> num_columns;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(EyeAttrs, num_rows, num_columns, dtype)

struct TriangleAttrs {
  int64_t diagonal = 0;
};
ARGOSY_ATTRS(TriangleAttrs, diagonal)

// The bytes of one element of the dtype.
struct Element {
  alignas(16) char bytes[16] = {};
};
ARGOSY_API Element element_of(const op::Scalar& value, DType dtype);

ARGOSY_API Tensor full(const op::IntArray& shape, const op::Scalar& value, DType dtype);
ARGOSY_API Tensor full_like(const Tensor& x, const op::Scalar& value);
ARGOSY_API Tensor full_like(const Tensor& x, const op::Scalar& value, DType dtype);
ARGOSY_API Tensor zeros_like(const Tensor& x);
ARGOSY_API Tensor ones_like(const Tensor& x);
// x with zeros above (tril) or below (triu) its diagonal, moved up by `diagonal`.
ARGOSY_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
ARGOSY_API Tensor triu(const Tensor& x, int64_t diagonal = 0);
// A 0-d constant on the device of x.
ARGOSY_API Tensor constant(const op::Scalar& value, DType dtype, Place place = {});

}  // namespace argosy::ops
