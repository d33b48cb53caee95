#include <limits>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/cumulative/cumulative.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

// Scans by doubling: after step i every element has what 2^i neighbours make together.
namespace argosy::ops {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// Element k becomes element k - by (reverse: k + by); `fill` comes in from outside.
Tensor shifted(const Tensor& x, int64_t axis, int64_t by, bool reverse, double fill) {
  const int64_t n = x.dim(static_cast<int>(axis));
  const Tensor outside = full_like(slice(x, axis, 0, by), op::Scalar(fill));
  const Tensor rest = reverse ? slice(x, axis, by, kEnd) : slice(x, axis, 0, n - by);
  const Tensor parts[] = {reverse ? rest : outside, reverse ? outside : rest};
  return concat(parts, axis);
}

}  // namespace

Tensor product_before(const Tensor& x, int64_t axis, bool reverse) {
  const int64_t n = x.dim(static_cast<int>(axis));
  if (n == 0) return x;
  Tensor y = shifted(x, axis, 1, reverse, 1);
  for (int64_t by = 1; by < n; by *= 2) y = multiply(y, shifted(y, axis, by, reverse, 1));
  return y;
}

Tensor chained_sum(const Tensor& x, const Tensor& factor, int64_t axis) {
  const int64_t n = x.dim(static_cast<int>(axis));
  Tensor sum = x, product = factor;
  for (int64_t by = 1; by < n; by *= 2) {
    sum = add(sum, multiply(product, shifted(sum, axis, by, true, 0)));
    product = multiply(product, shifted(product, axis, by, true, 0));
  }
  return sum;
}

}  // namespace argosy::ops
