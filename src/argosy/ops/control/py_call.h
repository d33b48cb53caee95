#pragma once

#include <cstdint>

#include "argosy/tensor/tensor.h"

namespace argosy::ops {

// Calls function number `callable` of the process; set by the bindings. Missing tensors are
// undefined, both ways.
extern ARGOSY_API Tensors (*call_python)(int64_t callable, std::span<const Tensor> in);

}  // namespace argosy::ops
