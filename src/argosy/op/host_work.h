#pragma once

#include "argosy/op/op.h"

// Work on the host of what is on a device.
namespace argosy::op {

// Runs a kernel of the CPU for operands on a device: they travel to the host, and what it makes and
// writes travels back. The host waits.
ARGOSY_API void run_on_host(const KernelDef& kernel, KernelFrame& frame, const void* attrs,
                            Place place);

// The operands, those that the op reads on the host in its memory.
ARGOSY_API InlineVector<Tensor, 4> with_host_inputs(const OpDef& op, const Inputs& in);

// For who computes while compiling, and reads the results: meanwhile, what this thread makes
// without operands is on the host where it would be on a device.
class ARGOSY_API MakesOnHost {
 public:
  MakesOnHost();
  ~MakesOnHost();
  MakesOnHost(const MakesOnHost&) = delete;

 private:
  const Place before_;
};

}  // namespace argosy::op
