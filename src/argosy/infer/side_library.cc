#include "argosy/infer/side_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "argosy/base/error.h"

namespace argosy::infer {

void* side_library(const char* format, const char* entry) {
  Dl_info self;
  ARGOSY_INVARIANT(dladdr(reinterpret_cast<void*>(&side_library), &self));
  // Each is bound to the core that it stands beside: Programs of one are not those of another.
  const std::filesystem::path here(self.dli_fname);
  const std::string file = here.stem().string() + '_' + format + ".so";
  const std::string path = (here.parent_path() / file).string();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ARGOSY_CHECK(library, runtime) << '[' << format << "] cannot load " << file
                                 << ", which reads such models: " << dlerror()
                                 << ". Do this: install Argosy with it, or Protobuf.";
  void* address = dlsym(library, entry);
  ARGOSY_CHECK(address, runtime) << '[' << format << "] " << path
                                 << " is of another version of Argosy: it has no " << entry
                                 << ". Do this: install both from one build.";
  return address;
}

}  // namespace argosy::infer
