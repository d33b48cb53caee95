#pragma once

#include <cuda_runtime_api.h>

#include "argosy/base/device.h"
#include "argosy/kernels/cuda/bounds.h"
#include "argosy/kernels/cuda/runtime.h"
#include "argosy/op/define.h"

// What registrations of CUDA kernels (cuda/ops/) share.
namespace argosy::cuda {

// The stream that a kernel enqueues on; the device of its place is current on the calling thread
// already.
cudaStream_t stream_of(const op::KernelFrame& frame);

// Where a kernel of the frame tells of an index that is out of range.
Watch watch_of(const op::KernelFrame& frame, Named named, int64_t detail = 0);

// Elements of t, as they lie. With a shape: broadcast to it.
View view_of(const Tensor& t);
View view_of(const Tensor& t, const Shape& shape);

// Registers a kernel of an existing op:
//
//   const char* match(const op::Inputs& in, const SoftmaxAttrs& a);   // null, or why not
//   void run(op::KernelFrame& f, const SoftmaxAttrs& a);
//   [[maybe_unused]] const bool softmax_added = add_kernel<SoftmaxAttrs>("softmax", match, run);
//
// Inputs arrive contiguous, unless it is said to be strided.
template <class A>
bool add_kernel(const char* op, const char* (*match)(const op::Inputs&, const A&),
                void (*run)(op::KernelFrame&, const A&), bool strided = false) {
  op::KernelDef kernel = op::make_kernel<A>("cuda", kAccelerator, match, run);
  kernel.strided = strided;
  return op::register_kernel(op, std::move(kernel), /*first=*/false);
}
template <class A>
bool add_kernel(const char* op, void (*run)(op::KernelFrame&, const A&), bool strided = false) {
  return add_kernel<A>(op, nullptr, run, strided);
}

}  // namespace argosy::cuda
