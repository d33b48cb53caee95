#include "argosy/kernels/cuda/timing.h"

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

constexpr int kTimes = 3;

class Event {
 public:
  Event() { ARGOSY_CUDA(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { ARGOSY_CUDA(cudaEventRecord(event_, stream)); }
  float since(const Event& other) const {
    ARGOSY_CUDA(cudaEventSynchronize(event_));
    float ms = 0;
    ARGOSY_CUDA(cudaEventElapsedTime(&ms, other.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

bool may_time(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ARGOSY_CUDA(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusNone;
}

void refuse_capture(cudaStream_t stream, const char* what) {
  ARGOSY_CHECK(may_time(stream), runtime)
      << '[' << what
      << "] cannot be part of a CUDA graph: the host waits for it. Do this: leave it "
      << "out of what is captured.";
}

float milliseconds(cudaStream_t stream, const std::function<void()>& enqueue) {
  Event begin, end;
  begin.record(stream);
  for (int i = 0; i < kTimes; ++i) enqueue();
  end.record(stream);
  return end.since(begin) / kTimes;
}

}  // namespace argosy::cuda
