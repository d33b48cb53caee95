#pragma once

#include "argosy/infer/onnx.h"

namespace argosy::infer::onnx {

std::string write_model(const program::Program& program, const OnnxExport& options);

}  // namespace argosy::infer::onnx
