#include <cmath>
#include <limits>

#include "argosy/kernels/cpu/reduce.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/reduce/common.h"

// Norms of vectors.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::Inputs;
using op::Save;

void norm_infer(op::InferContext& c, const PNormAttrs& a) {
  infer_reduced(c, a);
  c.out[0].dtype = real_of(c.out[0].dtype);
}

Tensors norm_parts(const Inputs& in, const PNormAttrs& a) {
  const Tensor& x = in[0];
  auto total = [&](const Tensor& t) { return sum(t, a.axis, a.keepdim); };
  if (a.p == 0) {
    Tensor counted = not_equal(x, zeros_like(x));
    return total(cast(counted, real_of(x.dtype())));
  }
  if (a.p == 2 && !is_complex(x.dtype())) return sqrt(total(square(x)));
  Tensor size = abs(x);
  if (std::isinf(a.p)) return a.p > 0 ? max(size, a.axis, a.keepdim) : min(size, a.axis, a.keepdim);
  if (a.p == 1) return total(size);
  if (a.p == 2) return sqrt(total(square(size)));
  return pow(total(pow(size, a.p)), 1 / a.p);
}

const char* is_plain_norm(const Inputs& in, const PNormAttrs& a) {
  if (is_complex(in[0].dtype())) return "complex";
  return a.p == 1 || a.p == 2 ? nullptr : "only the 1-norm and the 2-norm";
}
void norm_run(op::KernelFrame& f, const PNormAttrs& a) {
  const Tensor& x = f.in[0];
  const uint32_t axes = op::axes_mask(f.name(), a.axis, x.rank());
  if (f.out[0].numel() == 0) return;
  cpu::reduce_norm(a.p, x.dtype(), x.raw(), x.shape(), x.strides().data(), axes, f.out[0].raw());
}

// numerator / divisor, 0 where divisor is 0. The operands of the division are safe themselves, so
// that its own gradient is too.
Tensor divide_or_zero(const Tensor& numerator, const Tensor& divisor) {
  Tensor zero = equal(divisor, zeros_like(divisor));
  Tensor safe = where(zero, ones_like(divisor), divisor);
  Tensor quotient = divide(numerator, safe);
  return where(zero, zeros_like(quotient), quotient);
}

Tensor direction(const Tensor& x, const Tensor& size) {
  return is_complex(x.dtype()) ? divide_or_zero(x, cast(size, x.dtype())) : sign(x);
}

Tensors norm_grad(const GradCall& c, const PNormAttrs& a) {
  const Tensor& x = c.in[0];
  if (a.p == 0) return zeros_like(x);
  Tensor y = with_axes("norm", c.out(0), x, a.axis, a.keepdim);
  Tensor dy = with_axes("norm", c.dy(), x, a.axis, a.keepdim);
  auto own = [&](const Tensor& t) { return is_complex(x.dtype()) ? cast(t, x.dtype()) : t; };
  if (a.p == 2) return multiply(x, own(divide_or_zero(dy, y)));
  Tensor size = abs(x);
  Tensor unit = direction(x, size);
  if (a.p == 1) return multiply(unit, own(dy));
  if (std::isinf(a.p)) {
    Tensor chosen = cast(equal(size, y), size.dtype());
    return multiply(unit, own(multiply(chosen, dy)));
  }
  // (|x| / y)^(p - 1), 0 where x or y is 0.
  Tensor share = divide_or_zero(size, expand_like(y, size));
  Tensor zero = equal(share, zeros_like(share));
  Tensor power = pow(where(zero, ones_like(share), share), a.p - 1);
  return multiply(unit, own(multiply(where(zero, zeros_like(power), power), dy)));
}

ARGOSY_OP(p_norm, PNormAttrs)
    .doc(
        "The p-norm over axis (None: all): (sum of |x|^p)^(1/p); the largest and smallest |x| for "
        "p = inf and -inf, the number of elements that are not 0 for p = 0. The gradient is 0 "
        "where "
        "the norm is 0.")
    .shape("x [*s] -> [*s']")
    .input("x", kFloating | kComplex, Save::value)
    .output("out", Save::value)
    .infer(norm_infer)
    .kernel("reduce", is_plain_norm, norm_run)
    .strided()
    .compose(norm_parts)
    .gradient(norm_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace

Tensor p_norm(const Tensor& x, double p, const op::IntArray& axis, bool keepdim) {
  return p_norm_op(x, PNormAttrs{p, axis, keepdim});
}

}  // namespace argosy::ops
