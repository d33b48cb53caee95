#pragma once

#include <vector>

#include "argosy/op/op.h"
#include "argosy/streamed/descriptor.h"

namespace argosy::streamed {

// A call of a kernel as a queue holds it: descriptors and a copy of the attributes.
class Call {
 public:
  Call(const op::KernelDef& kernel, const op::KernelFrame& frame, const void* attrs,
       const Mirror& mirror);

  const char* name() const { return op_.name.c_str(); }
  const std::vector<Use>& uses() const { return uses_; }
  // Whether the host must wait: for an output of a size that data decide.
  bool waits() const;
  // Whether it draws from the CPU's generators, which others use, too.
  bool draws() const { return op_.effect == op::Effect::random; }

  // On the queue's thread.
  void run();
  // After that: output i where it had no memory before, on the CPU; else undefined.
  const Tensor& result(size_t i) const { return results_[i]; }

 private:
  // Bytes that the kernel reads, and not those that it writes.
  struct Kept {
    const char* bytes;
    size_t count;
    uint64_t before;
  };
  std::vector<Kept> keep() const;
  void run_kernel();
  void find_uses(const op::KernelFrame& frame, const void* attrs);

  const op::KernelDef& kernel_;
  const op::OpDef& op_;
  op::AttrBox attrs_;
  const Mirror& mirror_;
  std::vector<uint32_t> ends_;
  std::vector<Descriptor> in_, out_;
  std::vector<int32_t> same_as_;  // of outputs: which input it is, or -1
  std::vector<Use> uses_;
  std::vector<Tensor> results_;
};

}  // namespace argosy::streamed
