#include "argosy/infer/importer.h"
#include "argosy/infer/onnx.h"

// ONNX files as models for predictors: those whose Program follows from what they declare.
namespace argosy::infer {
namespace {

bool recognizes(const std::string& path, std::string_view head) {
  constexpr std::string_view kExtension = ".onnx";
  // A message of Protobuf whose first field is ir_version.
  const bool message = head.size() > 1 && head[0] == 8 && head[1] > 0 && head[1] < 32;
  if (path.empty()) return message;
  return message && path.size() > kExtension.size() &&
         std::string_view(path).substr(path.size() - kExtension.size()) == kExtension;
}

program::Model load_onnx(const ImportOptions& options) {
  const auto model = options.program_bytes.empty() ? open_onnx(options.path)
                                                   : parse_onnx(options.program_bytes, "");
  std::vector<OnnxGiven> given;
  for (const OnnxPort& port : model->inputs()) {
    ARGOSY_CHECK(port.kind == OnnxPort::Kind::tensor, not_implemented)
        << "[infer] input '" << port.name
        << "' of the ONNX model is a sequence or optional. Do this: use argosy.onnx.load.";
    if (port.ranked)
      given.push_back({port.name, {Tensor::describe(port.shape, port.dtype)}, false});
  }
  OnnxProgram made = model->build(given);
  if (!made.program) {
    Message m;
    for (const OnnxNeed& need : made.needs)
      m << (need.input == made.needs[0].input ? "" : ", ")
        << (need.value ? "the value" : "the shape") << " of '" << need.input << "'";
    ARGOSY_THROW(not_implemented) << "[infer] the Program of the ONNX model depends on " << m.str()
                                  << ", which its file does not fix. Do this: use "
                                     "argosy.onnx.load, which makes one for each.";
  }
  return {std::move(made.program), std::make_shared<program::Scope>()};
}

[[maybe_unused]] const bool registered = register_importer({"onnx", recognizes, load_onnx});

}  // namespace
}  // namespace argosy::infer
