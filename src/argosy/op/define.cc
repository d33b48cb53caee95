#include "argosy/op/define.h"

namespace argosy::op {

KernelDef detail::kernel_def(const char* name, DeviceKind device, const AttrType& attrs,
                             Erased<const char*, const Inputs&> match,
                             Erased<void, KernelFrame&> run) {
  return {.name = name, .device = device, .match = match, .run = run, .attrs = &attrs};
}

Description::Description(const char* name, const char* file, const AttrType& attrs) {
  def_.name = name;
  def_.file = file;
  def_.attrs = &attrs;
}
Description::~Description() = default;

void Description::add_input(const char* name, DTypes dtypes, Save save, Count count) {
  def_.inputs.push_back({.name = name,
                         .dtypes = dtypes,
                         .optional = count == Count::optional,
                         .list = count == Count::list,
                         .save = save});
  if (count == Count::list) def_.any_list = true;
}

void Description::add_output(const char* name, Save save, Use use, bool list) {
  def_.outputs.push_back({.name = name,
                          .list = list,
                          .hidden = use == Use::hidden,
                          .differentiable = use == Use::value,
                          .save = save});
  if (list) def_.any_list = true;
}

void Description::add_kernel(KernelDef kernel) {
  auto& kernels = def_.kernels[static_cast<int>(kernel.device)];
  kernels.push_back(std::move(kernel));
}

void Description::add_alias(const char* other, const char* own) {
  def_.aliases.emplace_back(other, own);
}

void Description::append(std::vector<std::string>& texts, const char* text) {
  texts.emplace_back(text);
}

OpDef* Description::finish() {
  return register_op(std::move(def_));
}

}  // namespace argosy::op
