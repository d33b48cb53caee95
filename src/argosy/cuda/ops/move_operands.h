#pragma once

#include "argosy/base/device.h"
#include "argosy/base/flags.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/current.h"
#include "argosy/kernels/cuda/gather.h"

// Operands of kernels that move elements by index.
namespace argosy::cuda {

// An integer tensor as kernels read it: t, contiguous, or a copy of it that `kept` holds, broadcast
// to `shape` and as int64 where it is neither that nor int32.
inline Index index_of(const Tensor& t, const Shape& shape, Tensor& kept) {
  kept = t;
  const bool direct = t.dtype() == DType::int64 || t.dtype() == DType::int32;
  if (!direct || !t.is_contiguous() || !(t.shape() == shape)) {
    kept = Tensor::empty(shape, direct ? t.dtype() : DType::int64, t.place());
    op::copy_into(kept, t);
  }
  return {kept.raw(), kept.dtype() == DType::int64};
}
inline Index index_of(const Tensor& t, Tensor& kept) {
  return index_of(t, t.shape(), kept);
}
// The same; what of it is out of range is told.
inline Index index_of(const Tensor& t, Tensor& kept, const Watch& watch) {
  Index index = index_of(t, kept);
  index.watch = watch;
  return index;
}

// t contiguous, of a dtype and broadcast to a shape: itself or a copy.
inline Tensor as_form(const Tensor& t, const Shape& shape, DType dtype) {
  if (t.dtype() == dtype && t.is_contiguous() && t.shape() == shape) return t;
  Tensor out = Tensor::empty(shape, dtype, t.place());
  op::copy_into(out, t);
  return out;
}

inline void clear(cudaStream_t stream, const Tensor& t) {
  if (t.numel()) ARGOSY_CUDA(cudaMemsetAsync(t.raw(), 0, t.nbytes(), stream));
}

// Whether sums at one place are asked to be the same in each run.
inline bool ordered_sums() {
  static const flags::Flag& all = flags::find("FLAGS_cudnn_deterministic");
  static const flags::Flag& tables = flags::find("FLAGS_embedding_deterministic");
  return all.boolean() || tables.integer() != 0;
}

// A number of the device; the host waits for it.
inline int64_t read_number(cudaStream_t stream, const int64_t* at) {
  int64_t value = 0;
  device::HostWait wait;
  ARGOSY_CUDA(cudaMemcpyAsync(&value, at, sizeof(value), cudaMemcpyDeviceToHost, stream));
  ARGOSY_CUDA(cudaStreamSynchronize(stream));
  raise_found(current_gpu, stream);
  return value;
}

}  // namespace argosy::cuda
