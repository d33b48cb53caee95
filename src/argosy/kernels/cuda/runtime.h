#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/kernels/cuda/view.h"

// What host code of CUDA kernels shares. Functions in kernels/cuda/ take a stream, addresses of the
// device, sizes and numbers; they enqueue and return. Who calls them (cuda/) knows tensors and ops.
namespace argosy::cuda {

// Throws Error(ErrorKind::device), naming what was called, CUDA's name of the error and its text.
[[noreturn]] void fail(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void fail_dtype(const char* what, DType dtype);
#define ARGOSY_CUDA(call)                                                                 \
  do {                                                                                    \
    const cudaError_t status_ = (call);                                                   \
    if (status_ != cudaSuccess) ::argosy::cuda::fail(status_, #call, __FILE__, __LINE__); \
  } while (0)
// After a launch: what was wrong with its configuration. It does not wait.
#define ARGOSY_CUDA_LAUNCHED() ARGOSY_CUDA(cudaGetLastError())

// Of the device that is current on the calling thread.
int multiprocessors();

// Blocks for `n` items of which a block takes `per_block`: at least 1, and at most as many as keep
// the device full. Kernels that are launched so go over their items in a loop with the grid's
// stride.
int grid(int64_t n, int64_t per_block, int blocks_per_multiprocessor = 8);

// Device memory that lives until what was enqueued so far on its stream is done. Nothing waits.
class Scratch {
 public:
  Scratch(cudaStream_t stream, size_t bytes);  // throws Error(ErrorKind::memory)
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T = void>
  T* data() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
  cudaStream_t stream_;
};

}  // namespace argosy::cuda
