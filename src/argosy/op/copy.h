#pragma once

#include "argosy/tensor/tensor.h"

// Tensors from place to place (copy_into of op/dispatch.h copies between any two).
namespace argosy::op {

// Raises where values of one shape cannot be copied to another. Unknown sizes may fit.
ARGOSY_API void check_fits(const Shape& to, const Shape& value);

// t on `place`, in whatever layout: itself if it is there; no history. Throws for what has no
// elements.
ARGOSY_API Tensor to_place(const Tensor& t, Place place);

// In pinned memory of the host, for copies that nobody waits for; throws where the process has no
// device. `wait`: for t's elements, where t is on a device.
ARGOSY_API Tensor to_pinned(const Tensor& t, bool wait = true);
ARGOSY_API bool is_pinned(const Tensor& t);
// to_place; the copy of pinned memory to a device may still be under way when it returns, and until
// then t must not be written. It may be dropped.
ARGOSY_API Tensor send(const Tensor& t, Place place);

// The door by which the host reads elements: t contiguous in the CPU's memory, itself if it is so.
// Elsewhere the host waits for the device (device::host_waits).
ARGOSY_API Tensor to_host(const Tensor& t);

// For kernels of ops that work on the host: their results may be elsewhere.
// REQUIRES: t is one int64.
ARGOSY_API void put_integer(const Tensor& t, int64_t value);
ARGOSY_API void clear(const Tensor& t);  // to zeros; t is contiguous

}  // namespace argosy::op
