#pragma once

#include "argosy/op/launch.h"

namespace argosy::cuda {

// How GPUs run ops: by their own kernels; loop tables by the GPU's loops of the same names; what
// has neither, and is not composed, by the CPU's kernel on the host, with one warning for each op.
class CudaLauncher final : public op::Launcher {
 public:
  explicit CudaLauncher(bool blocking) : blocking_(blocking) {}

  DeviceKind kernels() const override { return kAccelerator; }
  bool takes_cpu_kernels() const override { return true; }
  void launch(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
              Place place) override;
  void loop(op::KernelFrame& frame, const cpu::LoopTable& table, const void* params,
            int key) override;
  bool lays_last(const op::KernelDef& kernel, const op::OpDef& op, const op::Inputs& in,
                 const void* attrs, const Tensor& out) const override;
  bool chains() const override;
  void chain(Place place, FunctionRef<void(bool& unread)> steps) override;
  uint64_t chain_launches() const override;
  void copy(const Tensor& dst, const Tensor& src, Place place) override;

 private:
  // After each kernel, so that an error names the op that failed (CUDA_LAUNCH_BLOCKING=1).
  void check(const op::KernelFrame& frame, Place place) const;

  const bool blocking_;
};

// Runs a kernel of the CPU on operands of a GPU: brings them to the host and the results back.
// Waits.
void run_on_host(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
                 Place place);

}  // namespace argosy::cuda
