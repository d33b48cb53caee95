#pragma once

#include <optional>

#include "argosy/op/attrs.h"

// Running results along an axis.
namespace argosy::ops {

struct ScanAttrs {
  std::optional<int64_t> axis;
  std::optional<DType> dtype;
  bool reverse = false;
};
ARGOSY_ATTRS(ScanAttrs, axis, dtype, reverse)

struct CumprodAttrs {
  std::optional<int64_t> dim;
  std::optional<DType> dtype;
};
ARGOSY_ATTRS(CumprodAttrs, dim, dtype)

struct RunningAttrs {
  std::optional<int64_t> axis;
  DType dtype = DType::int64;
};
ARGOSY_ATTRS(RunningAttrs, axis, dtype)

ARGOSY_API Tensor cumsum(const Tensor& x, int64_t axis, bool reverse = false);
ARGOSY_API Tensor cumprod(const Tensor& x, int64_t axis);
// For each element the product of those before it (reverse: behind it) on the axis, whose size must
// be known: products alone, so that derivatives of any order are right where x is 0, too.
Tensor product_before(const Tensor& x, int64_t axis, bool reverse);
// r with r[k] = x[k] + factor[k] r[k + 1] on the axis, likewise.
Tensor chained_sum(const Tensor& x, const Tensor& factor, int64_t axis);

}  // namespace argosy::ops
