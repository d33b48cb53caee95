#include "argosy/infer/importer.h"
#include "argosy/infer/onnx.h"
#include "argosy/program/scope.h"

// ONNX files as a format of models.
namespace argosy::infer {
namespace {

// Constants of more elements than this are weights.
constexpr int64_t kFew = 16;

// By name; of a model in memory by the key of its first field, the version of the format.
bool recognizes(const std::string& path, std::string_view head) {
  return path.ends_with(".onnx") || (path.empty() && head.starts_with('\b'));
}

// Weights become state of `scope`, under their names in the file.
void move_weights(program::Program& p, program::Scope& scope) {
  std::vector<program::Constant> kept;
  for (program::Constant& c : p.constants) {
    if (!kFloating.has(c.tensor.dtype()) || c.tensor.numel() <= kFew) {
      kept.push_back(c);
      continue;
    }
    auto state = make_ref<program::State>();
    const auto& known = c.tensor.impl()->name;
    state->name =
        known && !scope.find(*known) ? *known : "folded_" + std::to_string(p.states.size());
    state->shape = c.tensor.shape();
    state->dtype = c.tensor.dtype();
    c.value->name = state->name;
    scope.var(state->name).tensor = c.tensor;
    p.states.push_back({state, c.value, {}});
  }
  p.constants = std::move(kept);
  p.changed();
}

program::Model load(const ImportOptions& options) {
  ARGOSY_CHECK(options.weights.empty() && options.weight_bytes.empty(), invalid_argument)
      << "[onnx] '" << options.path
      << "' names its weights itself. Do this: pass the .onnx file alone.";
  const auto model = options.program_bytes.empty() ? open_onnx(options.path)
                                                   : parse_onnx(options.program_bytes, "");
  const OnnxProgram made = model->build({});
  std::string names;
  for (const OnnxNeed& need : made.needs) names += (names.empty() ? "" : ", ") + need.input;
  ARGOSY_CHECK(made.program, not_implemented)
      << "[onnx] a Program of '" << options.path << "' has to know more of its inputs " << names
      << ". Do this: export it with these as constants, or with declared shapes.";
  auto scope = std::make_shared<program::Scope>(nullptr);
  move_weights(*made.program, *scope);
  made.program->verify();
  return {made.program, scope};
}

[[maybe_unused]] const bool registered = register_importer({"onnx", recognizes, load});

}  // namespace
}  // namespace argosy::infer
