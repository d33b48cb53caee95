#pragma once

#include <cublas_v2.h>

#include <mutex>

// cuBLAS itself, for what cuBLASLt (blas.h) does not do.
namespace argosy::cuda {

[[noreturn]] void fail_blas(cublasStatus_t status, const char* call);
#define ARGOSY_CUBLAS(call)                                                          \
  do {                                                                               \
    const cublasStatus_t status_ = (call);                                           \
    if (status_ != CUBLAS_STATUS_SUCCESS) ::argosy::cuda::fail_blas(status_, #call); \
  } while (0)

// A handle holds its stream: there is one for each device, for one call at a time.
struct BlasHandle {
  std::unique_lock<std::mutex> lock;
  cublasHandle_t handle;
};
BlasHandle blas_handle(cudaStream_t stream);

// f(handle).
template <class F>
void with_blas(cudaStream_t stream, F&& f) {
  const BlasHandle held = blas_handle(stream);
  f(held.handle);
}

}  // namespace argosy::cuda
