#pragma once

#include <string>

#include "argosy/op/op.h"

namespace argosy::op {

// State of one thread.
struct ThreadState {
  bool grad_enabled = true;
  void* recorder = nullptr;        // the Program that records all ops of this thread
  Place place;                     // where ops without inputs put their results
  std::string* explain = nullptr;  // collects why which kernel ran
};
// Never destroyed, needs no initializer, so access is one instruction.
extern ARGOSY_API constinit thread_local ThreadState thread_state
    __attribute__((tls_model("initial-exec")));

// Switches gradient recording of this thread for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) : saved_(thread_state.grad_enabled) {
    thread_state.grad_enabled = enabled;
  }
  ~GradMode() { thread_state.grad_enabled = saved_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool saved_;
};

// The one road of every op call: check -> promote -> infer -> kernel, with a tape node if a
// gradient may be needed; or one Operation of a Program if an input is symbolic or a recorder is
// active. attrs points to the op's attribute struct.
ARGOSY_API Tensors dispatch(const OpDef& op, const Inputs& in, const void* attrs);
// Its first output. Compositions are made of such calls: what is around one stands here once.
ARGOSY_API Tensor dispatch_one(const OpDef& op, std::span<const Tensor> in, const void* attrs);
ARGOSY_API Tensor dispatch_one(const OpDef& op, const Tensor& x, const Tensor& y,
                               const void* attrs);
ARGOSY_API Tensor dispatch_one(const OpDef& op, const Tensor& x, const Tensor& y, const Tensor& z,
                               const void* attrs);

// The same, written over input 0 (`x.add_(y)`): x gets the value, a new version and the op's
// history.
ARGOSY_API Tensor dispatch_inplace(const OpDef& op, const Inputs& in, const void* attrs);

// The first kernel that takes the call, or null. The null device has those of the CPU.
ARGOSY_API const KernelDef* find_kernel(const OpDef& op, const Inputs& in, const void* attrs,
                                        DeviceKind device);

// The views of x that are the op's results, in x's storage even where dispatch sets them apart;
// none where the op has to copy.
ARGOSY_API Tensors views_of(const OpDef& op, const Tensor& x, const void* attrs);

// Of Python floats.
ARGOSY_API DType default_dtype();
ARGOSY_API void set_default_dtype(DType dtype);

// Output descriptions only; what eager, builder, loader and verifier share.
ARGOSY_API void infer(InferContext& c, const void* attrs);

// A contiguous tensor of the same values (itself if it is); no history.
ARGOSY_API Tensor contiguous(const Tensor& t);
// Values of src into dst's memory, cast and broadcast as needed; no history, bumps no version.
ARGOSY_API void copy_into(const Tensor& dst, const Tensor& src);

// Doors for the rooms below (autograd, program), set once while the library loads.
struct Hooks {
  // Makes the tape node of a call and ties `out` to it.
  void (*record_tape)(const OpDef& op, const Inputs& in, const void* attrs, Tensors& out) = nullptr;
  // In place: x holds the result now; in[0] is what it was (its history, its memory), whose storage
  // was at old_version before the write.
  void (*record_tape_inplace)(const OpDef& op, const Inputs& in, const void* attrs,
                              uint32_t old_version, const Tensor& x) = nullptr;
  // x is written next: what the node that made `value` saved of x's memory is kept as it is now.
  void (*keep_saved)(const Tensor& value, const Tensor& x) = nullptr;
  // Appends an Operation; returns symbolic outputs.
  Tensors (*record_program)(const OpDef& op, const Inputs& in, const void* attrs) = nullptr;
  // x, a value of a Program or a tensor that one reads, stands for `value` from now on.
  void (*rebind)(const Tensor& x, const Tensor& value) = nullptr;
  // Does an attribute hold a symbolic tensor?
  bool (*attrs_have_symbols)(const AttrType& type, const void* attrs) = nullptr;
  Tensor (*cast)(const Tensor& x, DType to) = nullptr;
};
extern ARGOSY_API Hooks hooks;

}  // namespace argosy::op
