#include "argosy/kernels/cuda/library.h"

#include <dlfcn.h>

namespace argosy::cuda {

Library::Library(const char* file) : file_(file) {
  handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle_) handle_ = dlopen(("/usr/local/cuda/lib64/" + file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) problem_ = file_ + " was not found";
}

void* Library::find(const char* name) {
  if (!handle_) return nullptr;
  void* found = dlsym(handle_, name);
  if (!found) problem_ = file_ + " has no " + name;
  return found;
}

}  // namespace argosy::cuda
