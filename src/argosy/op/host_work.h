#pragma once

#include "argosy/op/op.h"

namespace argosy::op {

// Runs a kernel of the CPU for operands on a device: they travel to the host, and what it makes and
// writes travels back. The host waits.
ARGOSY_API void run_on_host(const KernelDef& kernel, KernelFrame& frame, const void* attrs,
                            Place place);

// The operands, those that the op reads on the host in its memory.
ARGOSY_API InlineVector<Tensor, 4> with_host_inputs(const OpDef& op, const Inputs& in);

}  // namespace argosy::op
