#pragma once

#include <string>

#include "argosy/op/attrs.h"

namespace argosy::ops {

// Of pad and pad_grad.
struct PadAttrs {
  op::IntArray paddings;  // (before, after) of each axis; negative ones cut
  std::string mode = "constant";
  op::Scalar value = 0.0;
};
ARGOSY_ATTRS(PadAttrs, paddings, mode, value)

}  // namespace argosy::ops
