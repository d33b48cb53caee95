#pragma once

#include <memory>
#include <span>
#include <vector>

#include "argosy/program/program.h"

// A captured function that needs a gradient runs as two Programs, one when it is called, one when
// its gradient is asked for.
namespace argosy::jit {

struct Split {
  // outputs: the results, then `saved` values for the other.
  std::shared_ptr<program::Program> forward;
  // inputs: those of `taken`, the saved values, then the gradients of the results. outputs: the
  // wanted gradients, those of `made` only. It reads state as it is when it runs,
  // but what the forward part writes as that has read it.
  std::shared_ptr<program::Program> backward;
  std::vector<uint32_t> taken;  // forward inputs that backward gets again
  size_t saved = 0;
  std::vector<bool> made;  // for each wanted gradient, whether there is one
};

// g: a Program whose first `inputs` inputs are the function's and whose others are gradients of its
// results; wanted: what Builder::gradients gave (null where there is none). g stays as it is.
ARGOSY_API Split split(const program::Program& g, size_t inputs,
                       std::span<const Ref<program::Value>> results,
                       std::span<const Ref<program::Value>> wanted);

}  // namespace argosy::jit
