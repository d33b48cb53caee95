#pragma once

#include <span>

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// Parts [outer, bytes] of a whole [outer, total bytes], side by side in their order; all
// contiguous.
struct Part {
  void* data = nullptr;
  int64_t bytes = 0;
};
// Writes the whole, or (apart) the parts. One launch for each 32 parts.
void move_parts(cudaStream_t stream, void* whole, std::span<const Part> parts, int64_t outer,
                int64_t total, bool apart);

}  // namespace argosy::cuda
