#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

enum class PadMode : uint8_t { constant, reflect, replicate, circular };
// Sizes of x and y, and how many places of y are before x, on each axis.
struct PadShape {
  int rank = 0;
  PadMode mode = PadMode::constant;
  int64_t in[kMaxRank] = {}, out[kMaxRank] = {}, before[kMaxRank] = {};
};

// y = x padded; `fill`: one element in the host's memory.
void pad(cudaStream_t stream, void* y, const void* x, const void* fill, const PadShape& shape,
         int item);
// dx = dy added up over the repeats of each element; 16-bit floats are summed in float32.
void pad_grad(cudaStream_t stream, DType dtype, void* dx, const void* dy, const PadShape& shape);

}  // namespace argosy::cuda
