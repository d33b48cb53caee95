#pragma once

#include <cudnn.h>

// What host code that calls cuDNN shares.
namespace argosy::cuda {

// Throws Error(ErrorKind::device), naming what was called and cuDNN's text.
[[noreturn]] void fail_dnn(cudnnStatus_t status, const char* call, const char* file, int line);
#define ARGOSY_CUDNN(call)                                              \
  do {                                                                  \
    const cudnnStatus_t dnn_status_ = (call);                           \
    if (dnn_status_ != CUDNN_STATUS_SUCCESS)                            \
      ::argosy::cuda::fail_dnn(dnn_status_, #call, __FILE__, __LINE__); \
  } while (0)

// The handle of the calling thread for the current device, on this stream. Made at the first use;
// when the thread ends another one takes it over.
cudnnHandle_t dnn_handle(cudaStream_t stream);

}  // namespace argosy::cuda
