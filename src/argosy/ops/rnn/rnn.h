#pragma once

#include "argosy/kernels/cpu/rnn.h"
#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

// One direction of one recurrent layer, as its kernels of every device see it.
namespace argosy::ops {

struct DirectionAttrs {
  std::string mode = "LSTM";
  bool time_major = false;
  bool reverse = false;
};
ARGOSY_ATTRS(DirectionAttrs, mode, time_major, reverse)

// Places of the operands of rnn_direction, the first ones of its gradient too. Behind them there
// are the reserve and the gradients of y, h and c.
enum : size_t { kX, kH0, kC0, kWIh, kWHh, kBIh, kBHh, kLengths, kDirectionInputs };

// x [batch, steps, input] or time major, w_hh [gates, hidden]; sizes may be unknown.
ARGOSY_API cpu::RnnShape rnn_kernel_shape(const Shape& x, const Shape& w_hh,
                                          const DirectionAttrs& a);

}  // namespace argosy::ops
