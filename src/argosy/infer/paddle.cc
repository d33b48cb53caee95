#include "argosy/infer/paddle.h"

#include <filesystem>
#include <fstream>

#include "argosy/infer/side_library.h"

namespace argosy::infer {
namespace {

const PaddleLibrary& library() {
  static const PaddleLibrary loaded =
      reinterpret_cast<PaddleLibrary (*)()>(side_library("paddle", "argosy_paddle_library"))();
  return loaded;
}

// A Protobuf of blocks begins with the key of its first field, JSON with the name of its format.
// (Programs of our own have been called .pdmodel too.)
bool begins_like_paddle(std::string_view head) {
  if (head.empty()) return false;
  return head[0] == '{' ? head.find("\"base_code\"") != std::string_view::npos
                        : head[0] == '\n' && head.size() > 2;
}

}  // namespace

bool recognizes_paddle(const std::string& path, std::string_view head) {
  if (!head.empty()) return begins_like_paddle(head);
  // A folder, or a prefix.
  const std::filesystem::path p(path);
  const std::filesystem::path candidates[] = {path + ".json", path + ".pdmodel", p / "__model__",
                                              p / "inference.json", p / "inference.pdmodel"};
  for (const auto& file : candidates) {
    char bytes[256];
    std::ifstream in(file, std::ios::binary);
    in.read(bytes, sizeof bytes);
    if (begins_like_paddle({bytes, static_cast<size_t>(in.gcount())})) return true;
  }
  return false;
}

PaddleImport import_paddle(const ImportOptions& options, std::span<const Tensor> fixed) {
  return library().import(options, fixed);
}

program::Model load_paddle(const ImportOptions& options) {
  PaddleImport made = import_paddle(options, {});
  if (made.model.program) return std::move(made.model);
  ARGOSY_THROW(not_implemented) << "[paddle] " << describe(made.needs, made.inputs);
}

PaddleFiles write_paddle(const program::Program& program, program::Scope* scope,
                         PaddleProgram form) {
  return library().write(program, scope, form);
}

}  // namespace argosy::infer
