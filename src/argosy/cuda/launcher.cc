#include "argosy/cuda/launcher.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "argosy/base/flags.h"
#include "argosy/base/profile.h"
#include "argosy/cuda/call.h"
#include "argosy/cuda/channels_last.h"
#include "argosy/cuda/device.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cuda/chain_recorder.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/loops.h"
#include "argosy/op/copy.h"

namespace argosy::cuda {
namespace {

// Results lie as the operands do where channels lie last in one of those; of 16-bit images.
void lay_as_operands(op::KernelFrame& frame) {
  const Tensor& y = frame.out[0];
  if (!follows_last(frame.in, y)) return;
  for (const Tensor& t : frame.out)
    if (!may_lie_last(t) || !(t.shape() == y.shape())) return;
  for (Tensor& t : frame.out) lay_last(t);
}

// Whether all lie as y does, without gaps.
bool alike(std::span<const Tensor> tensors, const Tensor& y) {
  for (const Tensor& t : tensors)
    if (!t.is_contiguous() || t.shape() != y.shape()) return false;
  return true;
}

// As one dimension.
void fill_flat(View& v, const Tensor& t) {
  v.data = t.raw();
  v.dtype = t.dtype();
  v.rank = 1;
  v.shape[0] = t.numel();
  v.strides[0] = 1;
}

}  // namespace

void CudaLauncher::launch(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
                          Place place) {
  use_gpu(place.index);
  // A kernel on loops may call other ops, whose kernels are none.
  if (chain_recorder && !kernel.on_loops) [[unlikely]]
    chain_recorder->run();
  if (kernel.device == kAccelerator || kernel.on_loops)
    kernel.run(frame, attrs);
  else
    run_on_host(kernel, frame, attrs, place);
  for (const Tensor& t : frame.out)
    if (t.defined() && t.has_data() && t.impl()->storage->bytes() >= CudaDevice::kNoted)
      CudaDevice::get().note_writer(t.impl()->storage->data(), frame.op.name.c_str());
  if (blocking_) [[unlikely]]
    check(frame, place);
}

void CudaLauncher::check(const op::KernelFrame& frame, Place place) const {
  const cudaError_t status =
      cudaStreamSynchronize(CudaDevice::get().stream(device::current(place)));
  if (status == cudaSuccess)
    return raise_found(place.index, CudaDevice::get().stream(device::current(place)));
  ARGOSY_THROW(device) << '[' << frame.op.name
                       << "] failed on gpu:" << static_cast<int>(place.index) << ": "
                       << cudaGetErrorString(status)
                       << ". Do this: start the process again; run it under compute-sanitizer to "
                          "find the access.";
}

void CudaLauncher::loop(op::KernelFrame& frame, const cpu::LoopTable& table, const void* params,
                        int key) {
  if (frame.out[0].numel() == 0) return;
  lay_as_operands(frame);
  const Tensor& y = frame.out[0];
  constexpr size_t kMost = 12;
  const auto in = frame.in.flat();
  ARGOSY_INVARIANT(in.size() + frame.out.size() <= kMost);
  // Written as far as the loops read: most operands need a hundredth of it.
  alignas(View) std::byte memory[kMost * sizeof(View)];
  View* views = reinterpret_cast<View*>(memory);
  // Steps of a chain are compared dimension by dimension.
  if (!chain_recorder && alike(in, y) && alike(frame.out, y)) {
    size_t count = 0;
    for (const Tensor& t : in) fill_flat(views[count++], t);
    for (const Tensor& t : frame.out) fill_flat(views[count++], t);
  } else {
    for (size_t i = 0; i < in.size(); ++i) views[i] = view_of(in[i], y.shape());
    for (size_t i = 0; i < frame.out.size(); ++i) views[in.size() + i] = view_of(frame.out[i]);
  }
  const LoopCall call{views, static_cast<int>(in.size()), static_cast<int>(frame.out.size()),
                      in[static_cast<size_t>(key)].dtype(),
                      static_cast<const cpu::LoopParams*>(params)};
  const DeviceLoop found = find_loop(&table);
  if (found && found(cuda::stream_of(frame), call)) return;
  ARGOSY_THROW(type) << '[' << frame.name() << "] is not defined for " << call.key
                     << " on GPUs. Do this: cast with .astype(..), or compute it on the CPU.";
}

bool CudaLauncher::lays_last(const op::KernelDef& kernel, const op::OpDef& op, const op::Inputs& in,
                             const void* attrs, const Tensor& out) const {
  if (out.dim(1) < 2 || out.dim(2) * out.dim(3) < 2) return false;
  if (kernel.on_loops && op.outputs.size() == 1) return follows_last(in, out);
  if (kernel.device != kAccelerator) return false;
  const LaysLast lays = find_lays_last(op.name);
  return lays && lays(in, attrs, out);
}

bool CudaLauncher::chains() const {
  static const bool wanted = flags::find("ARGOSY_DEVICE_FUSION").boolean();
  return wanted && !blocking_;
}

uint64_t CudaLauncher::chain_launches() const {
  return cuda::chain_launches();
}

void CudaLauncher::chain(Place place, FunctionRef<void(bool& unread)> steps) {
  ChainRecorder recorder(CudaDevice::get().stream(device::current(place)));
  struct Set {
    explicit Set(ChainRecorder* recorder) { chain_recorder = recorder; }
    ~Set() { chain_recorder = nullptr; }
  } set(&recorder);
  try {
    steps(recorder.unread);
  } catch (...) {
    recorder.run();  // what came before the step that failed
    throw;
  }
  recorder.finish();
}

void CudaLauncher::copy(const Tensor& dst, const Tensor& src, Place place) {
  cuda::copy(CudaDevice::get().stream(device::current(place)), view_of(dst),
             view_of(src, dst.shape()));
}

}  // namespace argosy::cuda
