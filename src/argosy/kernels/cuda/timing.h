#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace argosy::cuda {

// Not while a graph is being captured, where nothing runs.
bool may_time(cudaStream_t stream);

// What one of a few calls takes on the device, in milliseconds. The host waits.
float milliseconds(cudaStream_t stream, const std::function<void()>& enqueue);

}  // namespace argosy::cuda
