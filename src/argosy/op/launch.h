#pragma once

#include "argosy/base/device.h"
#include "argosy/base/parallel.h"
#include "argosy/op/op.h"

namespace argosy::cpu {
struct LoopTable;
}

// How a device runs kernels. A kernel of its own (KernelDef::device) is called on the calling
// thread and enqueues its work on stream_of(frame); a device without a Launcher needs nothing else.
// One with a Launcher does what that says.
namespace argosy::op {

// Members are thread safe.
class ARGOSY_API Launcher {
 public:
  virtual ~Launcher() = default;
  // Whose kernels it runs.
  virtual DeviceKind kernels() const = 0;
  // Runs the kernel, now or later: what the frame and attrs refer to ends with this call. Outputs
  // that have no memory yet have it afterwards.
  virtual void launch(const KernelDef& kernel, KernelFrame& frame, const void* attrs,
                      Place place) = 0;
  // Whether launch takes kernels of the CPU, too: where an op has no kernel of this device that
  // takes the call, those that are on_loops, which call `loop`, and, where the op is not composed,
  // the others.
  virtual bool takes_cpu_kernels() const { return false; }
  // run_elementwise on this device.
  virtual void loop(KernelFrame& frame, const cpu::LoopTable& table, const void* params, int key);
  // Does the kernel give output 0 of this call, an image [n, c, h, w], with channels last in memory
  // if the output's strides say so? Operands have the strides that they will have; asked of what is
  // dense. Elementwise kernels take any strides of outputs anyway.
  virtual bool lays_last(const KernelDef& /*kernel*/, const OpDef& /*op*/, const Inputs& /*in*/,
                         const void* /*attrs*/, const Tensor& /*out*/) const {
    return false;
  }
  // Whether `chain` does better than to run the steps. Those may be kernels that are on_loops.
  virtual bool chains() const { return false; }
  // Runs elementwise steps of a plan, which may become one kernel. `steps` launches them in order
  // on the calling thread and sets its argument before each: whether what that one writes is read
  // by these steps only.
  virtual void chain(Place place, FunctionRef<void(bool& unread)> steps);
  // How many kernels did the work of several steps since the process began.
  virtual uint64_t chain_launches() const { return 0; }
  // Values of src into dst, both strided and on `place`, cast and broadcast; dst has elements.
  virtual void copy(const Tensor& dst, const Tensor& src, Place place) = 0;
};

// Of the accelerator, before the first op on it. It lives as long as the process.
ARGOSY_API void set_launcher(Launcher* launcher);
// Of a kind other than the CPU.
ARGOSY_API Launcher& launcher(DeviceKind kind);

// Runs a kernel that find_kernel gave (op/dispatch.h) on a place that is not the CPU. Operands that
// it reads on the host are brought there.
ARGOSY_API void launch(const KernelDef& kernel, KernelFrame& frame, const void* attrs, Place place);

// Where a kernel of the device's own enqueues its work: the calling thread's current one of the
// place of its operands.
ARGOSY_API Stream stream_of(const KernelFrame& frame);

}  // namespace argosy::op
