#pragma once

#include <string>

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

// GridSample with a cubic kernel of images [n, c, h, w] at places [n, h', w', 2].
Tensor sample_cubic(const Node& n, const Tensor& x, const Tensor& grid, const std::string& padding,
                    bool corners);

}  // namespace argosy::infer::onnx
