#include "argosy/infer/paddle.h"

#include <dlfcn.h>

#include <filesystem>

namespace argosy::infer {
namespace {

constexpr char kFile[] = "libargosy_paddle.so";
constexpr char kEntry[] = "argosy_paddle_library";

PaddleLibrary open_library() {
  Dl_info self;
  ARGOSY_INVARIANT(dladdr(reinterpret_cast<void*>(&recognizes_paddle), &self));
  const std::string path = (std::filesystem::path(self.dli_fname).parent_path() / kFile).string();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for the life of the process
  ARGOSY_CHECK(library, runtime) << "[paddle] cannot load " << kFile
                                 << ", which reads models of Paddle: " << dlerror()
                                 << ". Do this: install Argosy with it, or Protobuf.";
  void* entry = dlsym(library, kEntry);
  ARGOSY_CHECK(entry, runtime) << "[paddle] " << path << " is of another version of Argosy: it has no "
                               << kEntry << ". Do this: install both from one build.";
  return reinterpret_cast<PaddleLibrary (*)()>(entry)();
}

const PaddleLibrary& library() {
  static const PaddleLibrary loaded = open_library();
  return loaded;
}

}  // namespace

bool recognizes_paddle(const std::string& path, std::string_view head) {
  const std::filesystem::path p(path);
  if (head.empty()) {
    std::error_code none;
    return std::filesystem::exists(p / "__model__", none);
  }
  if (p.extension() == ".json") return head.find("\"base_code\"") != std::string_view::npos;
  // A Protobuf of blocks: the key of its first field. (Programs of ours once had this suffix too.)
  return (p.extension() == ".pdmodel" || p.filename() == "__model__") && head[0] == '\n';
}

program::Model load_paddle(const ImportOptions& options) {
  return library().load(options);
}

PaddleFiles write_paddle(const program::Program& program, const program::Scope* scope) {
  return library().write(program, scope);
}

}  // namespace argosy::infer
