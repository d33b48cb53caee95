#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

namespace argosy::cuda {

// y = x, [outer, channels, inner], rounded to multiples of its channel's scale / steps, as
// ops/quant/fake_quantize.cc does; scales [channels] of their own dtype.
struct FakeQuantize {
  int64_t n = 0, channels = 1, inner = 1;
  double steps = 127;
  bool to_even = false;
};
void fake_quantize(cudaStream_t stream, const FakeQuantize& call, DType dtype, const void* x,
                   DType scale_dtype, const void* scales, void* y);

}  // namespace argosy::cuda
