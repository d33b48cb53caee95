#include "argosy/infer/onnx.h"

#include <dlfcn.h>

#include <filesystem>

#include "argosy/base/file.h"

namespace argosy::infer {
namespace {

constexpr char kFile[] = "libargosy_onnx.so";
constexpr char kEntry[] = "argosy_onnx_library";

OnnxLibrary load() {
  Dl_info self;
  ARGOSY_INVARIANT(dladdr(reinterpret_cast<void*>(&open_onnx), &self));
  const std::filesystem::path here(self.dli_fname);
  // What reads ONNX is bound to libargosy.so, whose Programs are not those of another copy of the
  // core.
  ARGOSY_CHECK(here.filename() != "libargosy_infer.so", not_implemented)
      << "[onnx] " << here.filename().string() << " reads models of Argosy's own format. Do this: "
      << "`argosy convert MODEL.onnx PREFIX`, and pass PREFIX.";
  const std::string path = (here.parent_path() / kFile).string();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for the life of the process
  ARGOSY_CHECK(library, runtime) << "[onnx] cannot load " << kFile
                                 << ", which reads ONNX files: " << dlerror()
                                 << ". Do this: install Argosy with it, or Protobuf.";
  void* entry = dlsym(library, kEntry);
  ARGOSY_CHECK(entry, runtime) << "[onnx] " << path
                               << " is of another version of Argosy: it has no " << kEntry
                               << ". Do this: install both from one build.";
  return reinterpret_cast<OnnxLibrary (*)()>(entry)();
}

const OnnxLibrary& library() {
  static const OnnxLibrary loaded = load();
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
