#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"

// Bits of integers; of bool: logic.
namespace argosy::ops {
namespace {

using op::NoAttrs;

#define ARGOSY_BITWISE(name, text)                   \
  ARGOSY_OP(name, NoAttrs)                           \
      .python(#name "(x, y, out=None, name=None)")   \
      .method(#name)                                 \
      .inplace(#name "_")                            \
      .alias("input", "x")                           \
      .alias("other", "y")                           \
      .doc(text)                                     \
      .input("x", kIntegral | kBool)                 \
      .input("y", kIntegral | kBool)                 \
      .index_output("out")                           \
      .promote()                                     \
      .elementwise()                                 \
      .kernel("loops", run_loops<cpu::name##_loops>) \
      .strided()                                     \
      .on_loops()

ARGOSY_BITWISE(bitwise_and, "The bits set in both x and y, elementwise with broadcasting.")
    .example(
        R"(>>> argosy.bitwise_and(argosy.to_tensor([12, 7]), argosy.to_tensor([18, 3])).tolist()
[0, 3])")
    .done();
ARGOSY_BITWISE(bitwise_or, "The bits set in x or y, elementwise with broadcasting.")
    .example(R"(>>> argosy.bitwise_or(argosy.to_tensor([12, 7]), argosy.to_tensor([18, 3])).tolist()
[30, 7])")
    .done();
ARGOSY_BITWISE(bitwise_xor, "The bits set in exactly one of x and y, elementwise, broadcasting.")
    .example(
        R"(>>> argosy.bitwise_xor(argosy.to_tensor([12, 7]), argosy.to_tensor([18, 3])).tolist()
[30, 4])")
    .done();

ARGOSY_OP(bitwise_not, NoAttrs)
    .python("bitwise_not(x, out=None, name=None)")
    .python("bitwise_invert(x, out=None, name=None)")
    .method("bitwise_not")
    .method("bitwise_invert(x, out=None, name=None)")
    .inplace("bitwise_not_")
    .inplace("bitwise_invert_")
    .alias("input", "x")
    .doc("All bits of x flipped; of bool: not x.")
    .example(R"(>>> argosy.bitwise_not(argosy.to_tensor([0, 5])).tolist()
[-1, -6])")
    .input("x", kIntegral | kBool)
    .index_output("out")
    .elementwise()
    .kernel("loops", run_loops<cpu::bitwise_not_loops>)
    .strided()
    .on_loops()
    .done();

void left_run(op::KernelFrame& f, const ShiftAttrs&) {
  run_elementwise(f, cpu::left_shift_loops());
}
void right_run(op::KernelFrame& f, const ShiftAttrs& a) {
  run_elementwise(f, a.is_arithmetic ? cpu::right_shift_loops() : cpu::right_shift_logical_loops());
}

#define ARGOSY_SHIFT(name, run, text)                                  \
  ARGOSY_OP(name, ShiftAttrs)                                          \
      .python(#name "(x, y, is_arithmetic=True, out=None, name=None)") \
      .method(#name)                                                   \
      .inplace(#name "_")                                              \
      .doc(text)                                                       \
      .input("x", kIntegral)                                           \
      .input("y", kIntegral)                                           \
      .index_output("out")                                             \
      .promote()                                                       \
      .elementwise()                                                   \
      .kernel("loops", run)                                            \
      .strided()                                                       \
      .on_loops()

ARGOSY_SHIFT(bitwise_left_shift, left_run,
             "x moved y bits to the left, elementwise with broadcasting; zeros come in.")
    .example(
        R"(>>> argosy.bitwise_left_shift(argosy.to_tensor([1, 8]), argosy.to_tensor([3, 2])).tolist()
[8, 32])")
    .done();
ARGOSY_SHIFT(bitwise_right_shift, right_run,
             "x moved y bits to the right, elementwise with broadcasting. The sign comes in if "
             "is_arithmetic, else zeros.")
    .example(
        R"(>>> argosy.bitwise_right_shift(argosy.to_tensor([1, 8]), argosy.to_tensor([3, 2])).tolist()
[0, 2])")
    .done();

}  // namespace
}  // namespace argosy::ops
