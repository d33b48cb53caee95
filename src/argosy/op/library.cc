#include "argosy/op/library.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string_view>

#include "argosy_abi.h"

// What a library's reference to argosy_abi.h binds to: the loader refuses one of another version
// before any of its code has run.
extern "C" const char ARGOSY_ABI_SYMBOL[] = ARGOSY_ABI_VERSION;

namespace argosy::op {
namespace {

constexpr std::string_view kSymbol = "argosy_abi_";

// The version that a loader's message about a missing symbol names, or empty.
std::string version_in(std::string_view message) {
  const size_t at = message.find(kSymbol);
  if (at == message.npos) return {};
  std::string version;
  for (char c : message.substr(at + kSymbol.size())) {
    if (std::string_view("0123456789abcdef").find(c) == std::string_view::npos) break;
    version += c;
  }
  return version;
}

[[noreturn]] void fail_load(const std::string& path, const std::string& message) {
  const std::string version = version_in(message);
  ARGOSY_CHECK(version.empty(), runtime)
      << "[load_op_library] " << path << " was compiled for another Argosy: it needs the interface "
      << version << ", this one has " << ARGOSY_ABI_VERSION
      << ". Do this: build it again with the argosy that is installed here.";
  ARGOSY_THROW(io) << "[load_op_library] the library cannot be loaded: " << message
                   << ". Do this: if a symbol is undefined, link what defines it "
                      "(extra_ldflags=['-l..']).";
}

}  // namespace

const char* abi_version() {
  return ARGOSY_ABI_SYMBOL;
}

std::vector<const OpDef*> load_library(const std::string& path) {
  // Never destroyed. Under the lock while initializers run: they must not load libraries of ops.
  static auto& mutex = *new std::mutex();
  static auto& loaded = *new std::map<void*, std::vector<const OpDef*>>();
  std::lock_guard lock(mutex);
  Registration registration;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail_load(path, dlerror());
  auto it = loaded.find(handle);
  if (it == loaded.end()) it = loaded.emplace(handle, registration.commit()).first;
  return it->second;
}

}  // namespace argosy::op
