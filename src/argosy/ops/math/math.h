#pragma once

#include "argosy/op/attrs.h"

namespace argosy::op {
struct Instead;
}

// Elementwise arithmetic, comparison and functions of one number. Operands broadcast; dtypes
// promote.
namespace argosy::ops {

struct AddAttrs {
  double alpha = 1;  // factor of y
};
ARGOSY_ATTRS(AddAttrs, alpha)

struct DivideAttrs {
  std::optional<std::string> rounding_mode;
};
ARGOSY_ATTRS(DivideAttrs, rounding_mode)

struct CastAttrs {
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(CastAttrs, dtype)

struct ScaleAttrs {
  op::Scalar scale = 1.0;
  double bias = 0;
  bool bias_after_scale = true;
  std::optional<std::string> act;
};
ARGOSY_ATTRS(ScaleAttrs, scale, bias, bias_after_scale, act)

struct ClipAttrs {
  std::optional<op::Scalar> min, max;
};
ARGOSY_ATTRS(ClipAttrs, min, max)

struct NanToNumAttrs {
  double nan = 0;
  std::optional<double> posinf, neginf;
};
ARGOSY_ATTRS(NanToNumAttrs, nan, posinf, neginf)

struct RoundAttrs {
  int64_t decimals = 0;
};
ARGOSY_ATTRS(RoundAttrs, decimals)

struct StanhAttrs {
  double scale_a = 0.67, scale_b = 1.7159;
};
ARGOSY_ATTRS(StanhAttrs, scale_a, scale_b)

struct ShiftAttrs {
  bool is_arithmetic = true;
};
ARGOSY_ATTRS(ShiftAttrs, is_arithmetic)

struct CloseAttrs {
  op::Scalar rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
ARGOSY_ATTRS(CloseAttrs, rtol, atol, equal_nan)

struct LogitAttrs {
  std::optional<double> eps;
};
ARGOSY_ATTRS(LogitAttrs, eps)

struct PolygammaAttrs {
  int64_t n = 1;
};
ARGOSY_ATTRS(PolygammaAttrs, n)

struct MultigammalnAttrs {
  int64_t p = 1;
};
ARGOSY_ATTRS(MultigammalnAttrs, p)

// The largest number of a floating dtype.
ARGOSY_API double largest(DType t);
ARGOSY_API Tensor add(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor add_(const Tensor& x, const Tensor& y);  // in place
ARGOSY_API Tensor subtract(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor multiply(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor divide(const Tensor& x, const Tensor& y);  // floating result
// The complex conjugate; real tensors as they are.
ARGOSY_API Tensor conj_if_complex(const Tensor& x);
ARGOSY_API Tensor negative(const Tensor& x);
ARGOSY_API Tensor cast(const Tensor& x, DType dtype);
// x * scale + bias
ARGOSY_API Tensor scale(const Tensor& x, double scale, double bias = 0);
// An operation is this of one of its operands: see op::Instead.
ARGOSY_API void scale_instead(op::Instead& instead, int32_t operand, double scale);

// The larger and the smaller; nan if either is.
ARGOSY_API Tensor maximum(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor minimum(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor pow(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor pow(const Tensor& x, double y);

// Of one number. Functions give floating results, float32 of integers.
ARGOSY_API Tensor abs(const Tensor& x);  // complex: the modulus, real
ARGOSY_API Tensor sign(const Tensor& x);
ARGOSY_API Tensor floor(const Tensor& x);
ARGOSY_API Tensor round(const Tensor& x);  // halves to even
ARGOSY_API Tensor sqrt(const Tensor& x);
ARGOSY_API Tensor rsqrt(const Tensor& x);
ARGOSY_API Tensor reciprocal(const Tensor& x);
ARGOSY_API Tensor square(const Tensor& x);
ARGOSY_API Tensor exp(const Tensor& x);
ARGOSY_API Tensor log(const Tensor& x);
ARGOSY_API Tensor log1p(const Tensor& x);
ARGOSY_API Tensor sin(const Tensor& x);
ARGOSY_API Tensor cos(const Tensor& x);
ARGOSY_API Tensor tanh(const Tensor& x);
ARGOSY_API Tensor sigmoid(const Tensor& x);
// min and max may be infinite. The gradient passes where min <= x <= max.
ARGOSY_API Tensor clip(const Tensor& x, double min, double max);

// Parts of complex tensors, real dtype.
ARGOSY_API Tensor real(const Tensor& x);
ARGOSY_API Tensor imag(const Tensor& x);

// Bool results, without gradient.
ARGOSY_API Tensor equal(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor not_equal(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor less_than(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor less_equal(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor greater_than(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor greater_equal(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor logical_and(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor logical_or(const Tensor& x, const Tensor& y);
ARGOSY_API Tensor logical_not(const Tensor& x);
ARGOSY_API Tensor isnan(const Tensor& x);
ARGOSY_API Tensor isfinite(const Tensor& x);

}  // namespace argosy::ops
