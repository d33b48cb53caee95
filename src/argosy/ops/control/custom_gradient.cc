#include "argosy/ops/control/custom_gradient.h"

#include "argosy/op/define.h"
#include "argosy/ops/manip/manip.h"

namespace argosy::ops {

CustomGradient custom_gradient_hook = nullptr;

namespace {

struct CustomAttrs {
  int64_t rule = 0;
  int64_t inputs = 0;
};
ARGOSY_ATTRS(CustomAttrs, rule, inputs)

void custom_infer(op::InferContext& c, const CustomAttrs&) {
  const auto outputs = c.in.list(1);
  c.out.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    c.out[i] = {outputs[i].shape(), outputs[i].dtype(), outputs[i].layout()};
}

void custom_run(op::KernelFrame& f, const CustomAttrs&) {
  const auto outputs = f.in.list(1);
  for (size_t i = 0; i < outputs.size(); ++i) op::copy_into(f.out[i], outputs[i]);
}

Tensors custom_grad(const op::GradCall& c, const CustomAttrs& a) {
  ARGOSY_CHECK(custom_gradient_hook, runtime)
      << "[custom_gradient] the function that knows this gradient is not there: the Program was "
         "loaded without the Python class that made it. Do this: build it again from its source.";
  return custom_gradient_hook(a.rule, c.dys());
}

ARGOSY_OP(custom_gradient, CustomAttrs)
    .doc(
        "outputs as they are, with a gradient for inputs that `rule` names: what PyLayer becomes "
        "in "
        "a Program.")
    .list_input("inputs", kAny, op::Save::shape)
    .list_input("outputs", kAny)
    .list_output("out")
    .infer(custom_infer)
    .kernel("copy", custom_run)
    .strided()
    .gradient(custom_grad)
    .amp(op::Amp::never)
    .done();

}  // namespace

Tensors custom_gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                        int64_t rule) {
  InlineVector<Tensor, 6> all(inputs);
  for (const Tensor& t : outputs) all.push_back(t);
  const uint32_t ends[] = {static_cast<uint32_t>(inputs.size()), static_cast<uint32_t>(all.size())};
  return custom_gradient_op.all(op::Inputs(all, ends), {rule, static_cast<int64_t>(inputs.size())});
}

}  // namespace argosy::ops
