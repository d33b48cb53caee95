#include "argosy/kernels/cuda/blas_handle.h"

#include <vector>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

void fail_blas(cublasStatus_t status, const char* call) {
  ARGOSY_THROW(device) << "[gpu] " << call << " failed with " << cublasGetStatusName(status) << ": "
                       << cublasGetStatusString(status)
                       << ". Do this: run with CUBLASLT_LOG_LEVEL=5 to see the operands.";
}

BlasHandle blas_handle(cudaStream_t stream) {
  static std::mutex mutex;
  static std::vector<cublasHandle_t> handles;
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  const auto at = static_cast<size_t>(device);
  BlasHandle held{std::unique_lock(mutex), nullptr};
  if (handles.size() <= at) handles.resize(at + 1);
  if (!handles[at]) ARGOSY_CUBLAS(cublasCreate(&handles[at]));
  held.handle = handles[at];
  ARGOSY_CUBLAS(cublasSetStream(held.handle, stream));
  return held;
}

}  // namespace argosy::cuda
