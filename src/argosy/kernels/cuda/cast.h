#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// copy (copy.h) where the dtypes differ.
void cast(cudaStream_t stream, const View& to, const View& from);

}  // namespace argosy::cuda
