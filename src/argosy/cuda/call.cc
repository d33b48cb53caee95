#include "argosy/cuda/call.h"

#include <algorithm>

#include "argosy/base/text.h"
#include "argosy/cuda/device.h"
#include "argosy/op/launch.h"
#include "argosy/ops/indexing/called.h"

namespace argosy::cuda {
namespace {

// The stream that the calling thread enqueued on last, as both sides name it: scratch memory is of
// that stream.
thread_local Stream last_stream{{kAccelerator, 0}, 0};
thread_local cudaStream_t last_cuda = nullptr;

}  // namespace

cudaStream_t stream_of(const op::KernelFrame& frame) {
  last_stream = op::stream_of(frame);
  return last_cuda = CudaDevice::get().stream(last_stream);
}

Watch watch_of(const op::KernelFrame& frame, Named named, int64_t detail) {
  return watch_of(ops::called_name(frame.op.name.c_str()), named, detail);
}

View view_of(const Tensor& t) {
  View v;
  v.data = t.raw();
  v.dtype = t.dtype();
  v.rank = t.rank();
  ARGOSY_CHECK(v.rank <= kMaxRank, invalid_argument)
      << "[gpu] expected at most " << kMaxRank << " dimensions, got " << t
      << ". Do this: reshape it.";
  std::copy(t.shape().begin(), t.shape().end(), v.shape);
  std::copy(t.strides().begin(), t.strides().end(), v.strides);
  return v;
}

View view_of(const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return view_of(t);
  View v;
  v.data = t.raw();
  v.dtype = t.dtype();
  v.rank = shape.rank();
  const Shape strides = broadcast_strides(t, shape);
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

Scratch::Scratch(cudaStream_t stream, size_t bytes) : bytes_(bytes), stream_(stream) {
  ARGOSY_INVARIANT(stream == last_cuda);
  data_ = CudaDevice::get().allocate(last_stream, StreamPool::rounded(bytes));
  ARGOSY_CHECK(data_, memory)
      << "[gpu] out of memory of gpu:" << static_cast<int>(last_stream.place.index) << ": "
      << bytes_text(static_cast<int64_t>(bytes))
      << " of scratch for a kernel requested. Do this: use smaller batches.";
}

Scratch::~Scratch() {
  CudaDevice::get().release(last_stream.place, data_, StreamPool::rounded(bytes_));
}

}  // namespace argosy::cuda
