#include "argosy/op/launch.h"

#include <atomic>

#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"

namespace argosy::op {
namespace {

// The null device: infers with the CPU's kernels and computes nothing.
class Nothing final : public Launcher {
 public:
  DeviceKind kernels() const override { return DeviceKind::cpu; }
  void launch(const KernelDef&, KernelFrame&, const void*, Place) override {}
  void copy(const Tensor&, const Tensor&, Place) override {}
};

// Kernels of the device's own, which enqueue their work themselves.
class Direct final : public Launcher {
 public:
  DeviceKind kernels() const override { return kAccelerator; }
  void launch(const KernelDef& kernel, KernelFrame& frame, const void* attrs, Place) override {
    kernel.run(frame, attrs);
  }
  void copy(const Tensor&, const Tensor&, Place place) override {
    Message m;
    m << "[copy] " << place
      << " cannot copy in its own memory: its device has no Launcher. Do this: "
      << "register one that copies (op/launch.h).";
    throw Error(ErrorKind::not_implemented, m.str());
  }
};

constinit Nothing nothing;
constinit Direct direct;
constinit std::atomic<Launcher*> of_accelerator{&direct};

// The operands are where the kernel reads them.
void run(const KernelDef& kernel, KernelFrame& frame, const void* attrs, Place place, bool host) {
  if (!host) return launcher(place.kind).launch(kernel, frame, attrs, place);
  kernel.run(frame, attrs);
  // An array lies on the host, but belongs to where it is used.
  for (const Tensor& t : frame.out)
    if (t.defined() && t.layout() == Layout::tensor_array) t.impl()->place = place;
}

}  // namespace

void set_launcher(Launcher* launcher) {
  of_accelerator.store(launcher, std::memory_order_release);
}

Launcher& launcher(DeviceKind kind) {
  if (kind == DeviceKind::null) return nothing;
  return *of_accelerator.load(std::memory_order_acquire);
}

void Launcher::loop(KernelFrame& frame, const cpu::LoopTable&, const void*, int) {
  ARGOSY_THROW(internal) << '[' << frame.op.name << "] this device has no loops.";
}

void Launcher::chain(Place, FunctionRef<void(bool& unread)> steps) {
  bool unread = false;
  steps(unread);
}

void launch(const KernelDef& kernel, KernelFrame& frame, const void* attrs, Place place) {
  if (place.kind == DeviceKind::null) return;  // computes nothing
  const bool host = frame.op.on_host && kernel.device == DeviceKind::cpu;
  if (!frame.op.host_inputs) return run(kernel, frame, attrs, place, host);
  const InlineVector<Tensor, 4> operands = with_host_inputs(frame.op, frame.in);
  KernelFrame here{frame.op, Inputs(operands, frame.in.ends()), frame.out};
  run(kernel, here, attrs, place, host);
}

Stream stream_of(const KernelFrame& frame) {
  for (const auto tensors : {frame.in.flat(), std::span<const Tensor>(frame.out)})
    for (const Tensor& t : tensors)
      if (t.defined()) return device::current(t.place());
  return device::current(thread_state.place);
}

}  // namespace argosy::op
