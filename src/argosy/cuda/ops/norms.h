#pragma once

#include "argosy/cuda/call.h"

// What registrations of normalizations share.
namespace argosy::cuda {

// A contiguous tensor to zeros.
inline void clear(cudaStream_t stream, const Tensor& t) {
  if (t.numel()) ARGOSY_CUDA(cudaMemsetAsync(t.raw(), 0, t.nbytes(), stream));
}
// Where a result for t is made in `dtype`: t itself, or memory of its form that is to be copied
// there.
inline Tensor in_dtype(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : Tensor::empty(t.shape(), dtype, t.place());
}

}  // namespace argosy::cuda
