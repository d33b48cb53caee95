#include <cuda_runtime_api.h>

#include <array>
#include <new>

#include "argosy/kernels/cuda/bounds.h"
#include "argosy/kernels/cuda/current.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

constexpr size_t kMostGpus = 64;
struct Watched {
  Watcher* watcher = nullptr;  // of the device
  Finding* finding = nullptr;  // pinned, as the host and every device address it
};
std::array<Watched, kMostGpus> watched;  // written once, before there are kernels

}  // namespace

void start_watching(int gpus) {
  int before = 0;
  ARGOSY_CUDA(cudaGetDevice(&before));
  for (int i = 0; i < gpus && static_cast<size_t>(i) < kMostGpus; ++i) {
    Watched& w = watched[static_cast<size_t>(i)];
    ARGOSY_CUDA(cudaSetDevice(i));
    void *pinned = nullptr, *own = nullptr, *seen = nullptr;
    ARGOSY_CUDA(cudaHostAlloc(&pinned, sizeof(Finding), cudaHostAllocMapped));
    ARGOSY_CUDA(cudaHostGetDevicePointer(&seen, pinned, 0));
    w.finding = new (pinned) Finding;
    const Watcher start{0, static_cast<Finding*>(seen)};
    ARGOSY_CUDA(cudaMalloc(&own, sizeof(Watcher)));
    ARGOSY_CUDA(cudaMemcpy(own, &start, sizeof start, cudaMemcpyHostToDevice));
    w.watcher = static_cast<Watcher*>(own);
  }
  ARGOSY_CUDA(cudaSetDevice(before));
}

Watch watch_of(const char* op, Named named, int64_t detail) {
  int gpu = current_gpu;
  if (gpu < 0) ARGOSY_CUDA(cudaGetDevice(&gpu));
  return {watched[static_cast<size_t>(gpu) % kMostGpus].watcher, op, named, detail};
}

void raise_found(int gpu, cudaStream_t stream) {
  const Watched& w = watched[static_cast<size_t>(gpu) % kMostGpus];
  Finding found;
  if (!w.finding || !take_finding(*w.finding, &found)) [[likely]]
    return;
  // What was told until here is of the same run; what comes after it is told anew.
  ARGOSY_CUDA(cudaMemsetAsync(&w.watcher->taken, 0, sizeof w.watcher->taken, stream));
  throw error_of(found);
}

}  // namespace argosy::cuda
