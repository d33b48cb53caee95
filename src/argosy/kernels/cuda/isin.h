#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// target[i] = whether x[i] is among test [m], or (invert) is not; m below 2^31. NaN is among
// nothing.
void isin(cudaStream_t stream, DType dtype, bool* target, const void* x, int64_t n,
          const void* test, int64_t m, bool invert);

}  // namespace argosy::cuda
