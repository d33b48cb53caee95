#pragma once

#include <span>

#include "argosy/op/op.h"

namespace argosy::ops {

// The values of outputs; their gradient with respect to inputs is what the hook gives for `rule`.
ARGOSY_API Tensors custom_gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                   int64_t rule);

// Gradients of the inputs (undefined where there is none) from those of the outputs. Set by the
// bindings, which keep the Python functions.
using CustomGradient = Tensors (*)(int64_t rule, std::span<const Tensor> dys);
ARGOSY_API extern CustomGradient custom_gradient_hook;

}  // namespace argosy::ops
