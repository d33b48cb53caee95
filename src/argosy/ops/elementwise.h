#pragma once

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"

// What ops that run a loop table share.
namespace argosy::ops {

// Runs table[dtype of input `key`] over all inputs, broadcast to the first output's shape, into all
// outputs. cost: about nanoseconds an element.
ARGOSY_API void run_elementwise(op::KernelFrame& f, const cpu::LoopTable& table,
                                const void* params = nullptr, double cost = 1, int key = 0);

// As a kernel of an op without attributes: .kernel("loops", run_loops<cpu::add_loops>).strided()
template <const cpu::LoopTable& (*kTable)(), int kCost = 1>
void run_loops(op::KernelFrame& f, const op::NoAttrs&) {
  run_elementwise(f, kTable(), nullptr, kCost);
}

}  // namespace argosy::ops
