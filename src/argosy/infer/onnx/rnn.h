#pragma once

#include <functional>

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

// x times W or R of a direction, transposed: [.., 4 hidden]. `weight` is which: input 1 or 2.
using WeightProduct = std::function<Tensor(const Tensor& x, size_t weight, int64_t direction)>;

// LSTM by its steps, whose products are the caller's; W is [directions, inputs, 4 hidden], R so
// too.
Items lstm_by_products(const Node& n, const WeightProduct& product);

}  // namespace argosy::infer::onnx
