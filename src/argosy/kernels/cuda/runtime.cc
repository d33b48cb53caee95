#include "argosy/kernels/cuda/runtime.h"

#include <algorithm>

#include "argosy/base/error.h"

namespace argosy::cuda {

void fail(cudaError_t status, const char* call, const char* file, int line) {
  cudaGetLastError();  // else the next launch would tell of it once more
  ARGOSY_THROW(device)
      << "[gpu] " << call << " failed with " << cudaGetErrorName(status) << ": "
      << cudaGetErrorString(status) << " (" << file << ':' << line
      << "). Do this: run with CUDA_LAUNCH_BLOCKING=1 to see which operation it is.";
}

void fail_dtype(const char* what, DType dtype) {
  ARGOSY_THROW(type) << '[' << what << "] there is no GPU kernel for " << dtype
                     << ". Do this: cast with .astype(..).";
}

int multiprocessors() {
  int device = 0, count = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  ARGOSY_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

int grid(int64_t n, int64_t per_block, int blocks_per_multiprocessor) {
  const int64_t most = int64_t{multiprocessors()} * blocks_per_multiprocessor;
  return static_cast<int>(std::clamp<int64_t>((n + per_block - 1) / per_block, 1, most));
}

}  // namespace argosy::cuda
