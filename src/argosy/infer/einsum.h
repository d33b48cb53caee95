#pragma once

#include <span>
#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::infer {

// Einstein's sum for importers: of ranks that are known, and sizes that need not be. An equation
// that does not fit is an Error.
ARGOSY_API Tensor einsum(std::string equation, std::span<const Tensor> operands);

}  // namespace argosy::infer
