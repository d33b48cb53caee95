#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Whole-number arithmetic: rounded division, its remainder, common divisors and multiples.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

ARGOSY_OP(floor_divide, NoAttrs)
    .python("floor_divide(x, y, name=None, *, out=None)")
    .method("floor_divide")
    .inplace("floor_divide_")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "x / y rounded down, elementwise with broadcasting. Integers raise on a zero divisor. It "
        "has no gradient.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.floor_divide(x, y).tolist()
[0.0, 2.0, 1.0])")
    .input("x", kReal)
    .input("y", kReal)
    .index_output("out")
    .promote_0d()
    .elementwise()
    .kernel("loops", run_loops<cpu::floor_divide_loops, 2>)
    .strided()
    .on_loops()
    .done();

Tensors remainder_grad(const GradCall& c, const NoAttrs&) {
  Tensor dy;
  if (c.needs(1)) {
    Tensor quotient = floor(divide(c.in[0], c.in[1]));
    dy = sum_like(negative(multiply(c.dy(), quotient)), c.in[1]);
  }
  return {c.needs(0) ? sum_like(c.dy(), c.in[0]) : Tensor(), dy};
}

ARGOSY_OP(remainder, NoAttrs)
    .python("remainder(x, y, name=None, *, out=None)")
    .python("mod(x, y, name=None, *, out=None)")
    .python("floor_mod(x, y, name=None, *, out=None)")
    .method("remainder")
    .method("mod(x, y, name=None, *, out=None)")
    .method("floor_mod(x, y, name=None, *, out=None)")
    .inplace("remainder_")
    .inplace("mod_")
    .inplace("floor_mod_")
    .alias("input", "x")
    .alias("other", "y")
    .doc(
        "x - y floor(x / y), elementwise with broadcasting: the remainder, with the sign of y. "
        "Integers raise on a zero divisor.")
    .example(R"(>>> x, y = argosy.to_tensor([1.0, 5.0, 3.0]), argosy.to_tensor([4.0, 2.0, 3.0])
>>> argosy.remainder(x, y).tolist()
[1.0, 1.0, 0.0])")
    .input("x", kReal, Save::value)
    .input("y", kReal, Save::value)
    .output("out")
    .promote()
    .elementwise()
    .kernel("loops", run_loops<cpu::remainder_loops, 2>)
    .strided()
    .on_loops()
    .gradient(remainder_grad)
    .done();

#define ARGOSY_COMMON(name, text)                       \
  ARGOSY_OP(name, NoAttrs)                              \
      .python(#name "(x, y, name=None)")                \
      .method(#name)                                    \
      .inplace(#name "_")                               \
      .alias("input", "x")                              \
      .alias("other", "y")                              \
      .doc(text)                                        \
      .input("x", kIntegral)                            \
      .input("y", kIntegral)                            \
      .index_output("out")                              \
      .promote()                                        \
      .elementwise()                                    \
      .kernel("loops", run_loops<cpu::name##_loops, 9>) \
      .strided()                                        \
      .on_loops()

ARGOSY_COMMON(gcd, "The greatest common divisor of |x| and |y|, elementwise; gcd(0, n) = |n|.")
    .example(R"(>>> argosy.gcd(argosy.to_tensor([12, 7]), argosy.to_tensor([18, 3])).tolist()
[6, 1])")
    .done();
ARGOSY_COMMON(lcm, "The least common multiple of |x| and |y|, elementwise; 0 if either is 0.")
    .example(R"(>>> argosy.lcm(argosy.to_tensor([12, 7]), argosy.to_tensor([18, 3])).tolist()
[36, 21])")
    .done();

}  // namespace
}  // namespace argosy::ops
