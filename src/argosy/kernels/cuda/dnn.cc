#include "argosy/kernels/cuda/dnn.h"

#include <mutex>
#include <utility>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

struct Owned {
  int device;
  cudnnHandle_t handle;
};

// Handles of threads that ended. Never destroyed: CUDA may be gone before the process ends.
struct Pool {
  std::mutex mutex;
  std::vector<Owned> free;
};
Pool& pool() {
  static Pool* made = new Pool;
  return *made;
}

struct OfThread {
  std::vector<Owned> handles;
  ~OfThread() {
    std::lock_guard lock(pool().mutex);
    pool().free.insert(pool().free.end(), handles.begin(), handles.end());
  }
};

cudnnHandle_t take(int device) {
  {
    std::lock_guard lock(pool().mutex);
    std::vector<Owned>& free = pool().free;
    for (Owned& one : free)
      if (one.device == device) {
        const cudnnHandle_t handle = one.handle;
        one = free.back();
        free.pop_back();
        return handle;
      }
  }
  cudnnHandle_t handle = nullptr;
  ARGOSY_CUDNN(cudnnCreate(&handle));
  return handle;
}

}  // namespace

void fail_dnn(cudnnStatus_t status, const char* call, const char* file, int line) {
  char last[512] = "";
  cudnnGetLastErrorString(last, sizeof last);
  cudaGetLastError();
  ARGOSY_THROW(device) << "[gpu] " << call << " failed with " << cudnnGetErrorString(status)
                       << (last[0] ? ": " : "") << last << " (" << file << ':' << line
                       << "). Do this: run with CUDNN_LOGLEVEL_DBG=3 to see what it was given.";
}

cudnnHandle_t dnn_handle(cudaStream_t stream) {
  static thread_local OfThread of_thread;
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  cudnnHandle_t handle = nullptr;
  for (const Owned& one : of_thread.handles)
    if (one.device == device) handle = one.handle;
  if (!handle) {
    handle = take(device);
    of_thread.handles.push_back({device, handle});
  }
  ARGOSY_CUDNN(cudnnSetStream(handle, stream));
  return handle;
}

}  // namespace argosy::cuda
