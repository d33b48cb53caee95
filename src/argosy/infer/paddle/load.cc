#include <algorithm>
#include <filesystem>

#include "argosy/base/file.h"
#include "argosy/infer/paddle.h"
#include "argosy/infer/paddle/session.h"
#include "argosy/infer/paddle/weights.h"
#include "argosy/infer/paddle/write.h"

// What libargosy_paddle.so hands over.
namespace argosy::infer::paddle {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

struct Files {
  fs::path program, weights;  // weights: a file, or the folder of one file for each parameter
};

Files find_files(const ImportOptions& options) {
  Files f{options.path, options.weights};
  if (!is_file(f.program)) {
    for (const char* tail : {".json", ".pdmodel"})
      if (!is_file(f.program) && is_file(options.path + tail)) f.program = options.path + tail;
    for (const char* name : {"__model__", "inference.json", "inference.pdmodel", "model.pdmodel"})
      if (!is_file(f.program) && is_file(fs::path(options.path) / name))
        f.program = fs::path(options.path) / name;
  }
  ARGOSY_CHECK(is_file(f.program), not_found)
      << "[paddle] there is no model at '" << options.path
      << "'. Do this: pass its .json, .pdmodel or __model__ file, or the prefix of its files.";
  if (!f.weights.empty()) return f;
  f.weights = f.program;
  f.weights.replace_extension(".pdiparams");
  for (const char* name : {"__params__", "params"})
    if (!is_file(f.weights)) f.weights = f.program.parent_path() / name;
  if (!is_file(f.weights)) f.weights = f.program.parent_path();
  return f;
}

// The parameters that files have, by name: they stand in one file in this order.
std::vector<std::string> names_in_file(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, v] : graph.blocks[0].variables)
    if (v.persistable && v.in_file && (v.kind == kLodTensor || v.kind == kSelectedRows))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void check_form(const Variable& v, const Tensor& t) {
  bool fits = t.rank() == v.shape.rank() && (!v.typed || t.dtype() == v.dtype);
  for (int d = 0; fits && d < t.rank(); ++d)
    fits = v.shape[d] == kUnknown || v.shape[d] == t.dim(d);
  ARGOSY_CHECK(fits, invalid_argument)
      << "[paddle] the parameters do not belong to the Program: '" << v.name << "' is " << v.dtype
      << v.shape << " there, the file has " << t << '.';
}

Weights together(const Graph& graph, std::string_view bytes, const std::string& file) {
  const std::vector<std::string> names = names_in_file(graph);
  const std::vector<Tensor> tensors = read_tensors(bytes, file);
  ARGOSY_CHECK(names.size() == tensors.size(), invalid_argument)
      << "[paddle] '" << file << "' has " << tensors.size() << " tensors, the Program "
      << names.size() << " parameters. Do this: pass the file that was saved with it.";
  Weights weights;
  for (size_t i = 0; i < names.size(); ++i) {
    check_form(graph.blocks[0].variables.at(names[i]), tensors[i]);
    weights.emplace(names[i], tensors[i]);
  }
  return weights;
}

Weights apart(const Graph& graph, const fs::path& folder) {
  Weights weights;
  for (const std::string& name : names_in_file(graph)) {
    // Names come from the file: they must not lead out of the folder.
    const fs::path relative = fs::path(name).lexically_normal();
    ARGOSY_CHECK(!name.empty() && relative.is_relative() && *relative.begin() != "..",
                 invalid_argument)
        << "[paddle] a parameter is called '" << name << "', which is no file name.";
    const std::string file = (folder / relative).string();
    ARGOSY_CHECK(is_file(file), not_found)
        << "[paddle] the parameter '" << name << "' is in no file: there is no '" << file
        << "', and no file of all parameters beside the Program. Do this: pass the file of "
           "parameters.";
    const std::vector<Tensor> tensors = read_tensors(read_file(file), file);
    ARGOSY_CHECK(tensors.size() == 1, invalid_argument)
        << "[paddle] '" << file << "' has " << tensors.size() << " tensors, expected one.";
    check_form(graph.blocks[0].variables.at(name), tensors[0]);
    weights.emplace(name, tensors[0]);
  }
  return weights;
}

// The file speaks of other sizes of inputs than those that come.
void forget_sizes(Graph* graph) {
  for (Block& block : graph->blocks)
    for (auto& [name, v] : block.variables)
      if (!v.persistable)
        for (int d = 0; d < v.shape.rank(); ++d) v.shape[d] = kUnknown;
}

bool other_sizes(std::span<const Port> inputs, std::span<const Tensor> fixed) {
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (!fixed[i].defined()) continue;
    for (int d = 0; d < fixed[i].rank(); ++d)
      if (inputs[i].shape[d] != kUnknown && inputs[i].shape[d] != fixed[i].dim(d)) return true;
  }
  return false;
}

PaddleImport load(const ImportOptions& options, std::span<const Tensor> fixed) {
  const bool in_memory = !options.program_bytes.empty();
  Files files;
  std::string held;
  if (!in_memory) {
    files = find_files(options);
    held = read_file(files.program.string());
  }
  const std::string_view program = in_memory ? options.program_bytes : held;
  const bool json = program.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                    program[program.find_first_not_of(" \t\r\n")] == '{';
  Graph graph = json ? read_pir(program) : read_program(program);
  Weights weights;
  if (in_memory || !options.weight_bytes.empty())
    weights = together(graph, options.weight_bytes, "parameters");
  else if (is_file(files.weights))
    weights = together(graph, read_file(files.weights.string()), files.weights.string());
  else
    weights = apart(graph, files.weights);
  PaddleImport made{{}, inputs_of(graph), outputs_of(graph), {}};
  if (other_sizes(made.inputs, fixed)) forget_sizes(&graph);
  try {
    made.model = Session(graph, std::move(weights), made.inputs, fixed).finish();
  } catch (NeedsMore& more) {
    made.needs = std::move(more.needs);
  }
  return made;
}

}  // namespace
}  // namespace argosy::infer::paddle

extern "C" ARGOSY_API argosy::infer::PaddleLibrary argosy_paddle_library();
extern "C" argosy::infer::PaddleLibrary argosy_paddle_library() {
  return {argosy::infer::paddle::load, argosy::infer::paddle::write_model};
}
