#include "argosy/ops/norm/parts.h"

#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {

Tensor as_dtype(const Tensor& t, DType dtype) {
  if (!t.defined()) return t;
  if (t.dtype() == dtype) return op::contiguous(t);
  Tensor out = Tensor::empty(t.shape(), dtype, t.place());
  op::copy_into(out, t);
  return out;
}

void check_parameter(const char* op, const char* name, const Tensor& t, int64_t size,
                     const Shape& x) {
  if (!t.defined() || t.numel() < 0 || size < 0) return;
  ARGOSY_CHECK(t.numel() == size, invalid_argument)
      << '[' << op << "] " << name << " must have " << size << " elements for x " << x << ", got "
      << t << '.';
}

Tensor widened(const Tensor& t) {
  return t.defined() && kHalf.has(t.dtype()) ? cast(t, DType::float32) : t;
}

Normalized normalize_parts(const Tensor& x, const Tensor& g, const op::IntArray& axes,
                           double epsilon, bool centered) {
  Tensor shifted = centered ? subtract(x, mean(x, axes, true)) : x;
  Tensor rstd = rsqrt(scale(mean(square(shifted), axes, true), 1, epsilon));
  Tensor y = multiply(shifted, rstd);
  Tensor rest = multiply(y, mean(multiply(g, y), axes, true));
  if (centered) rest = add(rest, mean(g, axes, true));
  return {y, multiply(rstd, subtract(g, rest))};
}

}  // namespace argosy::ops
