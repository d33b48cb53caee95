#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/op.h"

// Ops whose description is data of the running process rather than types of a compiler: those of
// paddle/extension.h and those written in Python. To everybody else they are ops as all others.
namespace argosy::op {

struct RuntimeOp {
  struct Attr {
    std::string name;
    FieldKind
        kind;  // boolean, integer, real, string, integers, reals or strings; default: 0, empty
  };

  std::string name, doc, file;
  std::vector<InputDef> inputs;
  std::vector<OutputDef> outputs;
  std::vector<Attr> attrs;
  Effect effect = Effect::pure;
  // Called with the attribute struct, which runtime_field reads. `gradient` may be empty.
  std::function<void(InferContext&, const void* attrs)> infer;
  std::function<void(KernelFrame&, const void* attrs)> run;
  // `run` also takes operands of the accelerator, and enqueues its work as kernels of that do.
  bool on_device = false;
  std::function<Tensors(const GradCall&, const void* attrs)> gradient;
};

// As register_op: where ops have been looked up, within a Registration. Throws Error: a name is no
// identifier or comes twice, a kind is none of those above.
ARGOSY_API OpDef* register_runtime_op(RuntimeOp op);

// Field `i` of an attribute struct. REQUIRES: T is the C++ type of its kind.
template <class T>
const T& runtime_field(const OpDef& op, const void* attrs, size_t i) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(attrs) + op.attrs->fields[i].offset);
}

// The attributes of `to` with the values that the fields of these names have in those of `from`.
// REQUIRES: `from` has all fields of `to`, of the same kinds.
ARGOSY_API AttrBox runtime_attrs(const OpDef& to, const OpDef& from, const void* attrs);

// While it lives, what a kernel calls is neither recorded nor given gradients.
class ARGOSY_API InsideKernel {
 public:
  InsideKernel();
  ~InsideKernel();
  InsideKernel(const InsideKernel&) = delete;

 private:
  bool grad_;
  void* recorder_;
};

// Gives `made` as the kernel's outputs; copies what shares memory with an input. Throws Error: they
// are not as many as, or of another dtype or shape than, infer said.
ARGOSY_API void give_outputs(KernelFrame& f, Tensors made);

}  // namespace argosy::op
