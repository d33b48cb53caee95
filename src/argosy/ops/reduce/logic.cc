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
      .shape("x [*s] -> [*s']")                                   \
      .python(#name signature)                                    \
      .method(#name)                                              \
      .alias("input", "x")                                        \
      .alias("dim", "axis")                                       \
      .doc(text)                                                  \
      .input("x", kAny - kFloat8)                                 \
      .index_output("out")                                        \
      .infer(infer_function)                                      \
      .kernel("reduce", run_reduction<Reduce::name, ReduceAttrs>) \
      .strided()

ARGOSY_LOGIC(any, "(x, axis=None, keepdim=False, name=None, *, out=None)", logic_infer,
             "Whether some element along axis (None: all axes) is not 0; False of nothing.")
    .example(R"(>>> x = argosy.to_tensor([[True, False], [True, True]])
>>> argosy.any(x).item()
True
>>> argosy.any(x, axis=1).tolist()
[True, True])")
    .done();
ARGOSY_LOGIC(all, "(x, axis=None, keepdim=False, name=None, *, out=None)", logic_infer,
             "Whether every element along axis (None: all axes) is not 0; True of nothing.")
    .example(R"(>>> x = argosy.to_tensor([[True, False], [True, True]])
>>> argosy.all(x).item()
False
>>> argosy.all(x, axis=1).tolist()
[False, True])")
    .done();
ARGOSY_LOGIC(count_nonzero, "(x, axis=None, keepdim=False, name=None)", count_infer,
             "How many elements along axis (None: all axes) are not 0; int64.")
    .example(R"(>>> argosy.count_nonzero(argosy.to_tensor([[0, 1], [2, 3]]), axis=1).tolist()
[1, 2])")
    .done();

}  // namespace

Tensor any(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return any_op(x, ReduceAttrs{axis, keepdim});
}
Tensor all(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return all_op(x, ReduceAttrs{axis, keepdim});
}

}  // namespace argosy::ops
