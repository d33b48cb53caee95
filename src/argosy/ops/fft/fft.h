#pragma once

#include "argosy/op/attrs.h"

// Discrete Fourier transforms.
namespace argosy::ops {

struct FftAttrs {
  std::vector<int64_t> axes;
  bool forward = true;
  double scale = 1;
};
ARGOSY_ATTRS(FftAttrs, axes, forward, scale)

}  // namespace argosy::ops
