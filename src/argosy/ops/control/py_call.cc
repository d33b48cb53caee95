#include "argosy/ops/control/py_call.h"

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"

// Python inside a Program: static.py_func.
namespace argosy::ops {

Tensors (*call_python)(int64_t callable, std::span<const Tensor> in) = nullptr;

namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

struct PyCallAttrs {
  int64_t callable = 0;
  int64_t backward = 0;          // of inputs, outputs and gradients of outputs; 0: no gradient
  std::vector<int64_t> ranks;    // of each output
  std::vector<int64_t> sizes;    // of all outputs, -1 where not known
  std::vector<DType> dtypes;     // of each output
  std::string what = "py_func";  // for errors
};
ARGOSY_ATTRS(PyCallAttrs, callable, backward, ranks, sizes, dtypes, what)

void py_call_infer(InferContext& c, const PyCallAttrs& a) {
  size_t at = 0;
  bool fits = a.ranks.size() == a.dtypes.size();
  for (int64_t rank : a.ranks) {
    fits = fits && rank >= 0 && rank <= kMaxRank;
    if (fits) at += static_cast<size_t>(rank);
  }
  for (int64_t size : a.sizes) fits = fits && size >= kUnknown;
  ARGOSY_CHECK(fits && at == a.sizes.size(), invalid_argument)
      << '[' << c.name() << "] ranks, sizes and dtypes of the outputs do not fit together.";
  c.out.resize(a.ranks.size());
  at = 0;
  for (size_t i = 0; i < a.ranks.size(); ++i) {
    Shape shape;
    for (int64_t d = 0; d < a.ranks[i]; ++d) shape.push_back(a.sizes[at++]);
    c.out[i] = {shape, a.dtypes[i]};
  }
}

void py_call_run(KernelFrame& f, const PyCallAttrs& a) {
  ARGOSY_CHECK(call_python, runtime) << '[' << a.what << "] needs a Python process.";
  Tensors made = call_python(a.callable, f.in.flat());
  ARGOSY_CHECK(made.size() == f.out.size(), invalid_argument)
      << '[' << a.what << "] the function must return as many values as `out` has: expected "
      << f.out.size() << ", got " << made.size()
      << ". Do this: return one value for each, or give fewer outputs.";
  size_t at = 0;
  for (size_t i = 0; i < f.out.size(); ++i) {
    const Tensor& t = made[i];
    const size_t rank = static_cast<size_t>(a.ranks[i]);
    bool fits = t.defined() && t.dtype() == a.dtypes[i] && t.rank() == a.ranks[i];
    for (size_t d = 0; fits && d < rank; ++d)
      fits = a.sizes[at + d] == kUnknown || a.sizes[at + d] == t.dim(static_cast<int>(d));
    Shape want;
    for (size_t d = 0; d < rank; ++d) want.push_back(a.sizes[at + d]);
    ARGOSY_CHECK(fits, invalid_argument)
        << '[' << a.what << "] value " << i << " that the function returned does not fit: expected "
        << a.dtypes[i] << want << ", got " << t
        << ". Do this: return an array of the dtype and shape that `out` was made with.";
    at += rank;
    Tensor& out =
        f.out[i].defined() && f.out[i].shape() == t.shape() ? f.out[i] : f.allocate(i, t.shape());
    op::copy_into(out, t);
  }
}

Tensors py_call_grad(const GradCall& c, const PyCallAttrs& a);

ARGOSY_OP(py_call, PyCallAttrs)
    .doc("What a Python function of this process returns for the inputs.")
    .list_input("inputs", kAny, Save::value)
    .list_output("out", Save::value)
    .effect(op::Effect::io)
    .infer(py_call_infer)
    .kernel("python", py_call_run)
    .gradient(py_call_grad)
    .done();

Tensors py_call_grad(const GradCall& c, const PyCallAttrs& a) {
  const std::span<const Tensor> in = c.in.flat();
  Tensors grads;
  if (!a.backward) {
    for (size_t i = 0; i < in.size(); ++i) grads.push_back(Tensor());
    return grads;
  }
  std::vector<Tensor> all(in.begin(), in.end());
  all.insert(all.end(), c.outs().begin(), c.outs().end());
  for (size_t i = 0; i < c.dys().size(); ++i)
    all.push_back(c.dy(i).defined() ? c.dy(i) : zeros_like(c.outs()[i]));
  PyCallAttrs back;
  back.callable = a.backward;
  back.what = a.what + " backward_func";
  for (const Tensor& t : in) {
    back.ranks.push_back(t.rank());
    for (int64_t s : t.shape()) back.sizes.push_back(s);
    back.dtypes.push_back(t.dtype());
  }
  const uint32_t end = static_cast<uint32_t>(all.size());
  return py_call_op.all(Inputs(all, &end), back);
}

}  // namespace
}  // namespace argosy::ops
