#pragma once

#include "argosy/tensor/tensor.h"

// Tensors from place to place (copy_into of op/dispatch.h copies between any two).
namespace argosy::op {

// t on `place`, in whatever layout: itself if it is there; no history. Throws for what has no
// elements.
ARGOSY_API Tensor to_place(const Tensor& t, Place place);

// The door by which the host reads elements: t contiguous in the CPU's memory, itself if it is so.
// Elsewhere the host waits for the device (device::host_waits).
ARGOSY_API Tensor to_host(const Tensor& t);

}  // namespace argosy::op
