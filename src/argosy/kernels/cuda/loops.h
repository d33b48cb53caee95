#pragma once

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cuda/runtime.h"

// The loop tables of kernels/cpu/elementwise.h on the device: the same ops for the same dtypes.
namespace argosy::cuda {

// Operands: inputs, then the output, all of one shape (0 strides where an input is broadcast). An
// input may be exactly the output; other overlap is not allowed.
struct LoopCall {
  const View* operands;
  int inputs, outputs;
  DType key;                      // what the CPU's table is indexed by
  const cpu::LoopParams* params;  // null where the op has none
};

// False: not defined for the dtype, and nothing was done. Integers divided by 0 give 0: a kernel
// cannot raise.
using DeviceLoop = bool (*)(cudaStream_t, const LoopCall&);

// Of name##_loops(), by its address; null of other tables.
DeviceLoop find_loop(const cpu::LoopTable* table);

#define ARGOSY_DECLARE_DEVICE_LOOP(name) bool name##_loop(cudaStream_t, const LoopCall&);
ARGOSY_ALL_LOOPS(ARGOSY_DECLARE_DEVICE_LOOP)
#undef ARGOSY_DECLARE_DEVICE_LOOP

}  // namespace argosy::cuda
