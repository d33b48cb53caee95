#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Running results along one axis: tensors are contiguous [outer, n, inner], along n.
namespace argosy::cuda {

struct ScanShape {
  int64_t outer = 1, n = 1, inner = 1;
};

// x and y of one numeric dtype; y may be x. 16-bit floats accumulate in float, float32 in double;
// integers wrap.
void scan_sum(cudaStream_t stream, bool product, DType dtype, const void* x, void* y,
              const ScanShape& s, bool reverse);
// Floating.
void scan_logsumexp(cudaStream_t stream, DType dtype, const void* x, void* y, const ScanShape& s,
                    bool reverse);
// Running extreme and the index (int32 or int64) where it was met last; nan stays once it was met.
// Real dtypes.
void scan_extreme(cudaStream_t stream, bool largest, DType dtype, const void* x, void* y,
                  DType index_dtype, void* index, const ScanShape& s);

// The gradient of y = cumprod(x); floating and complex.
void cumprod_grad(cudaStream_t stream, DType dtype, const void* x, const void* y, const void* dy,
                  void* dx, const ScanShape& s);
// The gradient of y = logcumsumexp(x); reverse: the adjoint of that. Floating.
void logcumsumexp_grad(cudaStream_t stream, DType dtype, const void* x, const void* y,
                       const void* dy, void* dx, const ScanShape& s, bool reverse);

}  // namespace argosy::cuda
