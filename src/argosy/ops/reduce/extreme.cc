#include "argosy/ops/elementwise.h"
#include "argosy/ops/reduce/common.h"

// Largest and smallest elements and where they are.
namespace argosy::ops {
namespace {

using cpu::Reduce;
using op::GradCall;
using op::Save;

void extreme_infer(op::InferContext& c, const ReduceAttrs& a) {
  infer_reduced(c, a);
  if (!a.axis.symbols.empty()) return;
  const Tensor& x = c.in[0];
  uint32_t mask = op::axes_mask(c.name(), a.axis, x.rank());
  for (int d = 0; d < x.rank(); ++d)
    ARGOSY_CHECK(!(mask >> d & 1) || x.dim(d) != 0, invalid_argument)
        << '[' << c.name() << "] nothing to choose from: axis " << d << " of " << x
        << " has size 0. Do this: check for empty tensors first.";
}

template <Reduce kKind>
void extreme_run(op::KernelFrame& f, const ReduceAttrs& a) {
  if (f.out[0].numel()) run_reduction<kKind>(f, a);
}

// Equal extremes share the gradient.
Tensors extreme_grad(const GradCall& c, const ReduceAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor y = with_axes("max", c.out(0), x, a.axis, a.keepdim);
  Tensor dy = with_axes("max", c.dy(), x, a.axis, a.keepdim);
  Tensor mask = cast(equal(x, y), dy.dtype());
  return multiply(divide(dy, sum(mask, a.axis, true)), mask);
}

#define ARGOSY_EXTREME(name, kind, signature, text) \
  ARGOSY_OP(name, ReduceAttrs)                      \
      .shape("x [*s] -> [*s']")                     \
      .python(#name signature)                      \
      .method(#name)                                \
      .doc(text)                                    \
      .input("x", kReal | kBool, Save::value)       \
      .output("out", Save::value)                   \
      .infer(extreme_infer)                         \
      .kernel("reduce", extreme_run<Reduce::kind>)  \
      .strided()                                    \
      .gradient(extreme_grad)

// No alias dim: elsewhere max(x, dim) is a pair, which compat.max gives.
ARGOSY_EXTREME(max, max, "(x, axis=None, keepdim=False, name=None)",
               "The largest element along axis (an int or a list; None: all); nan if there is one. "
               "Equal ones share the gradient.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.max(x).item()
4.0
>>> argosy.max(x, axis=1).tolist()
[2.0, 4.0])")
    .done();
ARGOSY_EXTREME(min, min, "(x, axis=None, keepdim=False, name=None)",
               "The smallest element along axis (an int or a list; None: all); nan if there is "
               "one. Equal ones share the gradient.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.min(x).item()
1.0
>>> argosy.min(x, axis=1).tolist()
[1.0, 3.0])")
    .done();
ARGOSY_EXTREME(amax, max, "(x, axis=None, keepdim=False, name=None, *, out=None)",
               "The largest element along axis (an int or a list; None: all); nan if there is one. "
               "Equal ones share the gradient.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.amax(x).item()
4.0
>>> argosy.amax(x, axis=1).tolist()
[2.0, 4.0])")
    .alias("input", "x")
    .alias("dim", "axis")
    .done();
ARGOSY_EXTREME(amin, min, "(x, axis=None, keepdim=False, name=None, *, out=None)",
               "The smallest element along axis (an int or a list; None: all); nan if there is "
               "one. Equal ones share the gradient.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.amin(x).item()
1.0
>>> argosy.amin(x, axis=1).tolist()
[1.0, 3.0])")
    .alias("input", "x")
    .alias("dim", "axis")
    .done();

uint32_t arg_mask(const char* name, const ArgAttrs& a, int rank) {
  return op::axes_mask(name, a.axis ? op::IntArray::one(*a.axis) : op::IntArray::all(), rank);
}

void arg_infer(op::InferContext& c, const ArgAttrs& a) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(kIndex.has(a.dtype), invalid_argument)
      << '[' << c.name() << "] dtype: expected int32 or int64, got " << a.dtype << '.';
  uint32_t mask = arg_mask(c.name(), a, x.rank());
  for (int d = 0; d < x.rank(); ++d)
    ARGOSY_CHECK(!(mask >> d & 1) || x.dim(d) != 0, invalid_argument)
        << '[' << c.name() << "] nothing to choose from: axis " << d << " of " << x
        << " has size 0. Do this: check for empty tensors first.";
  c.out[0] = {reduced_shape(x.shape(), mask, a.keepdim), a.dtype};
}

template <bool kLargest>
void arg_run(op::KernelFrame& f, const ArgAttrs& a) {
  Tensor x = f.in[0];
  if (f.out[0].numel() == 0) return;
  int axis = 0;
  if (!a.axis || x.rank() == 0) {
    x = op::contiguous(x);
    x = x.view({x.numel()}, {1});
  } else {
    axis = static_cast<int>(*a.axis < 0 ? *a.axis + x.rank() : *a.axis);
  }
  Tensor index =
      f.out[0].dtype() == DType::int64 ? f.out[0] : Tensor::empty(f.out[0].shape(), DType::int64);
  cpu::reduce_arg(kLargest, x.dtype(), x.raw(), x.shape(), x.strides().data(), axis,
                  index.data<int64_t>());
  if (!index.is(f.out[0])) op::copy_into(f.out[0], index);
}

#define ARGOSY_ARG(name, largest, text)                                                     \
  ARGOSY_OP(name, ArgAttrs)                                                                 \
      .shape("x [*s] -> [*s']")                                                             \
      .python(#name "(x, axis=None, keepdim=False, dtype='int64', name=None, *, out=None)") \
      .method(#name)                                                                        \
      .alias("input", "x")                                                                  \
      .alias("dim", "axis")                                                                 \
      .alias("keepdims", "keepdim")                                                         \
      .doc(text)                                                                            \
      .input("x", kReal | kBool)                                                            \
      .index_output("out")                                                                  \
      .infer(arg_infer)                                                                     \
      .kernel("reduce", arg_run<largest>)                                                   \
      .strided()

ARGOSY_ARG(argmax, true,
           "The index of the first largest element along axis (None: of the flattened tensor), or "
           "of the first nan; int32 or int64.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 5.0, 3.0], [9.0, 2.0, 3.0]])
>>> argosy.argmax(x).item()
3
>>> argosy.argmax(x, axis=1).tolist()
[1, 0])")
    .done();
ARGOSY_ARG(argmin, false,
           "The index of the first smallest element along axis (None: of the flattened tensor), or "
           "of the first nan; int32 or int64.")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 5.0, 3.0], [9.0, 2.0, 3.0]])
>>> argosy.argmin(x).item()
0
>>> argosy.argmin(x, axis=1).tolist()
[0, 1])")
    .done();

}  // namespace

Tensor max(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return max_op(x, ReduceAttrs{axis, keepdim});
}
Tensor min(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return min_op(x, ReduceAttrs{axis, keepdim});
}
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim) {
  return argmax_op(x, ArgAttrs{axis, keepdim, DType::int64});
}

}  // namespace argosy::ops
