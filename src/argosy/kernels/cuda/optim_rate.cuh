#pragma once

#include "argosy/kernels/cuda/optim.h"

namespace argosy::cuda::optim {

// The number in an array of one float32 or float64; 1 where there is none.
__device__ __forceinline__ double factor_of(const Array& rate) {
  if (!rate.data) return 1;
  return rate.dtype == DType::float64 ? *static_cast<const double*>(rate.data)
                                      : *static_cast<const float*>(rate.data);
}

}  // namespace argosy::cuda::optim
