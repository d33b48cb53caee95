#include <algorithm>

#include "argosy/infer/importer.h"
#include "argosy/infer/onnx.h"

// ONNX files as models for predictors.
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

std::vector<Port> ports_of(const char* what, std::span<const OnnxPort> declared) {
  std::vector<Port> ports;
  for (const OnnxPort& port : declared) {
    ARGOSY_CHECK(port.kind == OnnxPort::Kind::tensor, not_implemented)
        << "[infer] " << what << " '" << port.name
        << "' of the ONNX model is a sequence or optional. Do this: use argosy.onnx.load.";
    ports.push_back({port.name, port.dtype, port.shape, port.ranked});
  }
  return ports;
}

class OnnxSource final : public Source {
 public:
  explicit OnnxSource(std::shared_ptr<OnnxModel> model)
      : model_(std::move(model)),
        inputs_(ports_of("input", model_->inputs())),
        outputs_(ports_of("output", model_->outputs())) {}

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  program::Model build(std::span<const Tensor> fixed, std::vector<Need>* needs) const override {
    std::vector<OnnxGiven> given;
    for (size_t i = 0; i < fixed.size(); ++i)
      if (fixed[i].defined()) given.push_back({inputs_[i].name, {fixed[i]}, false});
    OnnxProgram made = model_->build(given);
    for (const OnnxNeed& need : made.needs) {
      const auto input = std::ranges::find(inputs_, need.input, &Port::name);
      ARGOSY_INVARIANT(input != inputs_.end());
      needs->push_back({static_cast<size_t>(input - inputs_.begin()), need.value});
    }
    for (const OnnxOutput& output : made.outputs)
      ARGOSY_CHECK(!output.sequence && !output.missing, not_implemented)
          << "[infer] output '" << output.name
          << "' of the ONNX model is a sequence or missing. Do this: use argosy.onnx.load.";
    return {std::move(made.program), std::make_shared<program::Scope>()};
  }

 private:
  const std::shared_ptr<OnnxModel> model_;
  const std::vector<Port> inputs_, outputs_;
};

Import load_onnx(const ImportOptions& options) {
  Import import;
  auto source = std::make_shared<OnnxSource>(options.program_bytes.empty()
                                                 ? open_onnx(options.path)
                                                 : parse_onnx(options.program_bytes, ""));
  import.model = source->build({}, &import.needs);
  if (!import.model.program) import.source = std::move(source);
  return import;
}

[[maybe_unused]] const bool registered = register_importer({"onnx", recognizes, load_onnx});

}  // namespace
}  // namespace argosy::infer
