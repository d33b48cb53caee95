#include "argosy/infer/onnx/write.h"

namespace argosy::infer::onnx {

std::string write_model(const program::Program&, const OnnxExport&) {
  ARGOSY_THROW(not_implemented) << "[onnx] export.";
}

}  // namespace argosy::infer::onnx
