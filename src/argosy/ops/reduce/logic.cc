#include "argosy/ops/elementwise.h"
#include "argosy/ops/reduce/common.h"

// any, all, and how many.
namespace argosy::ops {
namespace {

using cpu::Reduce;

void logic_infer(op::InferContext& c, const ReduceAttrs& a) {
  infer_reduced(c, a);
  c.out[0].dtype = DType::bool_;
}
void count_infer(op::InferContext& c, const ReduceAttrs& a) {
  infer_reduced(c, a);
  c.out[0].dtype = DType::int64;
}

#define ARGOSY_LOGIC(name, signature, infer_function, text)       \
  ARGOSY_OP(name, ReduceAttrs)                                    \
      .python(#name signature)                                    \
      .method(#name)                                              \
      .alias("input", "x")                                        \
      .alias("dim", "axis")                                       \
      .doc(text)                                                  \
      .input("x", kAny - kFloat8)                                 \
      .index_output("out")                                        \
      .infer(infer_function)                                      \
      .kernel("reduce", run_reduction<Reduce::name, ReduceAttrs>) \
      .strided()                                                  \
      .done()

ARGOSY_LOGIC(any, "(x, axis=None, keepdim=False, name=None, *, out=None)", logic_infer,
             "Whether some element along axis (None: all axes) is not 0; False of nothing.");
ARGOSY_LOGIC(all, "(x, axis=None, keepdim=False, name=None, *, out=None)", logic_infer,
             "Whether every element along axis (None: all axes) is not 0; True of nothing.");
ARGOSY_LOGIC(count_nonzero, "(x, axis=None, keepdim=False, name=None)", count_infer,
             "How many elements along axis (None: all axes) are not 0; int64.");

}  // namespace

Tensor any(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return any_op(x, ReduceAttrs{axis, keepdim});
}
Tensor all(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return all_op(x, ReduceAttrs{axis, keepdim});
}

}  // namespace argosy::ops
