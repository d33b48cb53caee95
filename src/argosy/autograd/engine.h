#pragma once

#include <span>

#include "argosy/autograd/node.h"

namespace argosy::autograd {

// Adds d(sum of roots . seeds)/d(leaf) into each leaf's grad. A missing or undefined seed is ones.
// Without retain_graph the saved values are freed on the way.
ARGOSY_API void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds,
                         bool retain_graph, bool create_graph = false);

// Gradients with respect to `inputs` (leaves or not), touching no .grad. Undefined where an input
// is not reached, which raises unless allow_unused. Nothing flows through no_grad_vars.
ARGOSY_API Tensors grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                        std::span<const Tensor> seeds, bool retain_graph, bool create_graph,
                        bool allow_unused, std::span<const Tensor> no_grad_vars);

}  // namespace argosy::autograd
