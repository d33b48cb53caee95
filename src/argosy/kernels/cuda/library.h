#pragma once

#include <string>

namespace argosy::cuda {

// A library of NVIDIA's that only some ops need. It is looked for when the first of them runs:
// where libargosy_cuda.so looks for its own (LD_LIBRARY_PATH, the wheels beside the package), then
// in the toolkit. It stays loaded.
class Library {
 public:
  explicit Library(const char* file);  // "libcufft.so.12"
  // Null if it is there; else why not, for who chooses a kernel.
  const char* problem() const { return problem_.empty() ? nullptr : problem_.c_str(); }
  // Null without the library. What it lacks although it is there makes it a problem.
  template <class F>
  F get(const char* name) {
    return reinterpret_cast<F>(find(name));
  }

 private:
  void* find(const char* name);

  const std::string file_;
  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace argosy::cuda
