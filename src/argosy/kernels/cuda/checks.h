#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "argosy/base/dtype.h"

namespace argosy::cuda {

// The first of int32 or int64 numbers that is not in [low, high). The host waits for it.
std::optional<int64_t> first_outside(cudaStream_t stream, DType dtype, const void* values,
                                     int64_t n, int64_t low, int64_t high);

}  // namespace argosy::cuda
