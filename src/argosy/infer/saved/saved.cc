#include <algorithm>
#include <filesystem>

#include "argosy/base/file.h"
#include "argosy/infer/importer.h"
#include "argosy/program/serialize.h"

// Models of our own format: PREFIX.argosy and PREFIX.safetensors (jit.save), or the same in files
// of other names (static.save_inference_model: NAME.pdmodel and NAME.pdiparams).
namespace argosy::infer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = ".argosy";

bool is_ours(std::string_view head) {
  return head.substr(0, sizeof(program::kMagic)) ==
         std::string_view(program::kMagic, sizeof(program::kMagic));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The files in a folder that begin as ours do, sorted.
std::vector<std::string> programs_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file(ignored) || entry.file_size(ignored) < sizeof(program::kMagic))
      continue;
    const fs::path extension = entry.path().extension();
    if (extension != kProgram && extension != ".pdmodel" && entry.path().filename() != "__model__")
      continue;
    char head[sizeof(program::kMagic)];
    InputFile(entry.path()).read(0, head, sizeof(head));
    if (is_ours({head, sizeof(head)})) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// PREFIX.argosy for PREFIX, and for PREFIX.pdmodel or PREFIX.json, as programs written for Paddle
// call what jit.save has written; empty if there is none.
std::string named(const std::string& path) {
  const std::string appended = path + std::string(kProgram);
  if (is_file(appended)) return appended;
  fs::path other(path);
  if (other.extension() != ".pdmodel" && other.extension() != ".json") return {};
  other.replace_extension(kProgram);
  return is_file(other) ? other.string() : std::string();
}

std::string program_at(const std::string& path) {
  if (is_file(path)) return path;
  if (const std::string found = named(path); !found.empty()) return found;
  const std::vector<std::string> found = programs_in(path);
  if (found.size() <= 1) return found.empty() ? std::string() : found[0];
  ARGOSY_THROW(invalid_argument) << "[infer] folder '" << path << "' holds several models, '"
                                 << found[0] << "' and '" << found[1]
                                 << "' among them. Do this: pass the file of one.";
}

bool recognizes(const std::string& path, std::string_view head) {
  if (!head.empty()) return is_ours(head);
  return !named(path).empty() || !programs_in(path).empty();
}

std::string weights_beside(const std::string& program) {
  const fs::path path(program);
  for (const char* extension : {".safetensors", ".pdiparams"}) {
    const std::string beside = fs::path(path).replace_extension(extension);
    if (is_file(beside)) return beside;
  }
  const std::string folded = path.parent_path() / "__params__";
  return is_file(folded) ? folded : std::string();
}

Import load_saved(const ImportOptions& options) {
  std::string bytes(options.program_bytes), file = options.path;
  if (bytes.empty()) {
    file = program_at(options.path);
    bytes = read_file(file);
  }
  program::NamedTensors weights;
  std::string from = options.weights;
  if (!options.weight_bytes.empty()) {
    weights = program::parse_weights(options.weight_bytes);
  } else {
    if (from.empty() && options.program_bytes.empty()) from = weights_beside(file);
    if (!from.empty() && !is_file(from)) {  // PREFIX.pdiparams of what jit.save has written
      const std::string other = fs::path(from).replace_extension(".safetensors");
      if (is_file(other)) from = other;
    }
    if (!from.empty()) weights = program::load_weights(from);
  }
  return {program::with_weights(program::deserialize(bytes, weights), weights,
                                from.empty() ? "weights of " + file : from)};
}

[[maybe_unused]] const bool registered = register_importer({"argosy", recognizes, load_saved});

}  // namespace
}  // namespace argosy::infer
