#pragma once

#include "argosy/kernels/cpu/rnn.h"
#include "argosy/op/op.h"

namespace argosy::ops {

// The gradients of one direction of a recurrent layer, step by step from other ops: what gradients
// of these gradients are made of. Operands and results are those of rnn_direction_grad; the number
// of steps must be known.
Tensors unrolled_gradients(const op::Inputs& in, cpu::RnnMode mode, bool time_major, bool reverse);

}  // namespace argosy::ops
