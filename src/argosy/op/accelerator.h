#pragma once

#include <string>

#include "argosy/base/export.h"

// GPUs: libargosy_cuda.so beside libargosy.so, with kernels of known ops and the device that runs
// them. It is loaded when a place on a GPU is first asked for, so who has none pays nothing.
namespace argosy::op {

// Whether that library is there. It says nothing about a driver or a GPU.
ARGOSY_API bool has_cuda();
// GPUs that the driver shows to this process; 0 without the library, a driver or a GPU. Starts
// nothing.
ARGOSY_API int cuda_count();
// Makes the GPUs the process's accelerator, "gpu"; the second call does nothing. Throws
// Error(ErrorKind::device), saying what is missing.
ARGOSY_API void start_cuda();

}  // namespace argosy::op
