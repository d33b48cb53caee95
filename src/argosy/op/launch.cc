#include "argosy/op/launch.h"

#include <atomic>

#include "argosy/op/dispatch.h"

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

}  // namespace

void set_launcher(Launcher* launcher) {
  of_accelerator.store(launcher, std::memory_order_release);
}

Launcher& launcher(DeviceKind kind) {
  if (kind == DeviceKind::null) return nothing;
  return *of_accelerator.load(std::memory_order_acquire);
}

Stream stream_of(const KernelFrame& frame) {
  for (const auto tensors : {frame.in.flat(), std::span<const Tensor>(frame.out)})
    for (const Tensor& t : tensors)
      if (t.defined()) return device::current(t.place());
  return device::current(thread_state.place);
}

}  // namespace argosy::op
