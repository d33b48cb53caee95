#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

// dy where `mask` holds.
Tensor masked(const Tensor& dy, const Tensor& mask) {
  return multiply(dy, cast(mask, dy.dtype()));
}

// Operands that are equal share the gradient.
template <Tensor (*kBetter)(const Tensor&, const Tensor&)>
Tensors shared_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1], &dy = c.dy();
  Tensor to_x = masked(dy, kBetter(x, y));
  Tensor tie = scale(masked(dy, equal(x, y)), 0.5);
  to_x = add(to_x, tie);
  return {c.needs(0) ? sum_like(to_x, x) : Tensor(),
          c.needs(1) ? sum_like(subtract(dy, to_x), y) : Tensor()};
}

// The first operand takes it if they are equal, the other one if it is nan.
template <Tensor (*kAtLeast)(const Tensor&, const Tensor&)>
Tensors first_grad(const GradCall& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1], &dy = c.dy();
  Tensor to_x = masked(dy, logical_or(kAtLeast(x, y), isnan(y)));
  return {c.needs(0) ? sum_like(to_x, x) : Tensor(),
          c.needs(1) ? sum_like(subtract(dy, to_x), y) : Tensor()};
}

#define ARGOSY_EXTREME(name, signature, rule, text)  \
  ARGOSY_OP(name, NoAttrs)                           \
      .python(#name signature)                       \
      .method(#name)                                 \
      .alias("input", "x")                           \
      .alias("other", "y")                           \
      .doc(text)                                     \
      .input("x", kReal | kBool, Save::value)        \
      .input("y", kReal | kBool, Save::value)        \
      .output("out")                                 \
      .promote_0d()                                  \
      .elementwise()                                 \
      .kernel("loops", run_loops<cpu::name##_loops>) \
      .strided()                                     \
      .on_loops()                                    \
      .gradient(rule)

ARGOSY_EXTREME(maximum, "(x, y, name=None, *, out=None)", shared_grad<greater_than>,
               "The larger of x and y, elementwise with broadcasting; nan if either is nan. The "
               "gradient of equal operands is shared.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.maximum(x, y).tolist()
[4.0, 5.0, 3.0])")
    .done();
ARGOSY_EXTREME(minimum, "(x, y, name=None, *, out=None)", shared_grad<less_than>,
               "The smaller of x and y, elementwise with broadcasting; nan if either is nan. The "
               "gradient of equal operands is shared.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.minimum(x, y).tolist()
[1.0, 2.0, 3.0])")
    .done();
ARGOSY_EXTREME(fmax, "(x, y, name=None)", first_grad<greater_equal>,
               "The larger of x and y, elementwise with broadcasting; a nan loses to a number.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.fmax(x, y).tolist()
[4.0, 5.0, 3.0])")
    .done();
ARGOSY_EXTREME(fmin, "(x, y, name=None)", first_grad<less_equal>,
               "The smaller of x and y, elementwise with broadcasting; a nan loses to a number.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.fmin(x, y).tolist()
[1.0, 2.0, 3.0])")
    .done();

}  // namespace

Tensor maximum(const Tensor& x, const Tensor& y) {
  return maximum_op(x, y);
}
Tensor minimum(const Tensor& x, const Tensor& y) {
  return minimum_op(x, y);
}

}  // namespace argosy::ops
