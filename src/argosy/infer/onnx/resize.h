#pragma once

#include "argosy/infer/onnx/node.h"

namespace argosy::infer::onnx {

Items resize(const Node& n);
Items upsample(const Node& n);  // what Resize was before version 10

}  // namespace argosy::infer::onnx
