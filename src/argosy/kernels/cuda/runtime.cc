#include "argosy/kernels/cuda/runtime.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/current.h"

namespace argosy::cuda {

constinit thread_local int current_gpu = -1;

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
  static std::array<std::atomic<int>, 64> known{};  // of each GPU; 0: not asked yet
  int device = current_gpu;
  if (device < 0) ARGOSY_CUDA(cudaGetDevice(&device));
  std::atomic<int>& count = known[static_cast<size_t>(device) % known.size()];
  if (const int n = count.load(std::memory_order_relaxed)) return n;
  int n = 0;
  ARGOSY_CUDA(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device));
  count.store(n, std::memory_order_relaxed);
  return n;
}

int grid(int64_t n, int64_t per_block, int blocks_per_multiprocessor) {
  const int64_t most = int64_t{multiprocessors()} * blocks_per_multiprocessor;
  return static_cast<int>(std::clamp<int64_t>((n + per_block - 1) / per_block, 1, most));
}

}  // namespace argosy::cuda
