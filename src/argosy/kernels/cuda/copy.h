#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Elements from one form to another on one device.
namespace argosy::cuda {

// Elements of `from` into `to`, which have one shape, any strides (those of `from` may be 0) and
// any dtypes; conversions are those of cpu::cast_loop. They may be the same memory exactly.
void copy(cudaStream_t stream, const View& to, const View& from);

// Every element of `to` is the `item_size` bytes at `item` (of the host; read at once).
void fill(cudaStream_t stream, const View& to, const void* item);

}  // namespace argosy::cuda
