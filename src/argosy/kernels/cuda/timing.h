#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace argosy::cuda {

// Not while a graph is being captured, where nothing runs.
bool may_time(cudaStream_t stream);

// Throws while a graph is being captured: what follows asks the device or takes its memory, so it
// cannot be recorded. Who records gives the recording up and runs without one.
void refuse_capture(cudaStream_t stream, const char* what);

// What one of a few calls takes on the device, in milliseconds. The host waits.
float milliseconds(cudaStream_t stream, const std::function<void()>& enqueue);

}  // namespace argosy::cuda
