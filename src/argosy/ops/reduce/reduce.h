#pragma once

#include <optional>

#include "argosy/op/attrs.h"

// Reductions over axes; None means all.
namespace argosy::ops {

struct ReduceAttrs {
  op::IntArray axis = op::IntArray::all();
  bool keepdim = false;
};
ARGOSY_ATTRS(ReduceAttrs, axis, keepdim)

struct TypedReduceAttrs {
  op::IntArray axis = op::IntArray::all();
  std::optional<DType> dtype;
  bool keepdim = false;
};
ARGOSY_ATTRS(TypedReduceAttrs, axis, dtype, keepdim)

struct ArgAttrs {
  std::optional<int64_t> axis;
  bool keepdim = false;
  DType dtype = DType::int64;
};
ARGOSY_ATTRS(ArgAttrs, axis, keepdim, dtype)

struct VarAttrs {
  op::IntArray axis = op::IntArray::all();
  std::optional<bool> unbiased;
  bool keepdim = false;
  double correction = 1;

  double divisor_less() const { return unbiased ? (*unbiased ? 1.0 : 0.0) : correction; }
};
ARGOSY_ATTRS(VarAttrs, axis, unbiased, keepdim, correction)

struct SquaresAttrs {
  op::IntArray axis = op::IntArray::all();
  bool keepdim = false;
  bool mean = false;
};
ARGOSY_ATTRS(SquaresAttrs, axis, keepdim, mean)

struct SizeOfAttrs {
  op::IntArray axis = op::IntArray::all();
  DType dtype = DType::float32;
  double minus = 0;
};
ARGOSY_ATTRS(SizeOfAttrs, axis, dtype, minus)

struct QuantilePositionsAttrs {
  std::vector<double> q;
  std::string interpolation = "linear";
  bool ignore_nan = false;
};
ARGOSY_ATTRS(QuantilePositionsAttrs, q, interpolation, ignore_nan)

// The sum of x over what broadcasting `like` to x's shape repeats; has like's shape. Reads like's
// shape only.
ARGOSY_API Tensor sum_like(const Tensor& x, const Tensor& like);

ARGOSY_API Tensor sum(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor mean(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                       bool keepdim = false);
ARGOSY_API Tensor max(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor min(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor prod(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                       bool keepdim = false);
ARGOSY_API Tensor logsumexp(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                            bool keepdim = false);
// Divides by n - correction.
ARGOSY_API Tensor var(const Tensor& x, const op::IntArray& axis, double correction,
                      bool keepdim = false);
ARGOSY_API Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);  // int64
ARGOSY_API Tensor any(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);
ARGOSY_API Tensor all(const Tensor& x, const op::IntArray& axis = op::IntArray::all(),
                      bool keepdim = false);

}  // namespace argosy::ops
