#include "argosy/infer/paddle.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>

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
  ARGOSY_CHECK(entry, runtime) << "[paddle] " << path
                               << " is of another version of Argosy: it has no " << kEntry
                               << ". Do this: install both from one build.";
  return reinterpret_cast<PaddleLibrary (*)()>(entry)();
}

const PaddleLibrary& library() {
  static const PaddleLibrary loaded = open_library();
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

program::Model load_paddle(const ImportOptions& options) {
  return library().load(options);
}

}  // namespace argosy::infer
