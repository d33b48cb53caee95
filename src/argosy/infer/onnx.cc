#include "argosy/infer/onnx.h"

#include <filesystem>

#include "argosy/base/file.h"
#include "argosy/infer/side_library.h"

namespace argosy::infer {
namespace {

const OnnxLibrary& library() {
  static const OnnxLibrary loaded =
      reinterpret_cast<OnnxLibrary (*)()>(side_library("onnx", "argosy_onnx_library"))();
  return loaded;
}

}  // namespace

OnnxModel::~OnnxModel() = default;

std::shared_ptr<OnnxModel> open_onnx(const std::string& path) {
  const std::string bytes = read_file(path);
  return parse_onnx(bytes, std::filesystem::absolute(path).parent_path().string());
}

std::shared_ptr<OnnxModel> parse_onnx(std::string_view bytes, const std::string& folder) {
  return library().parse(bytes, folder);
}

std::string write_onnx(const program::Program& program, const OnnxExport& options) {
  return library().write(program, options);
}

}  // namespace argosy::infer
