#include "argosy/kernels/cuda/nvrtc.h"

#include <dlfcn.h>

#include <mutex>
#include <vector>

namespace argosy::cuda {
namespace {

// As nvrtc.h has them; 0 is success.
using Program = void*;
struct Library {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*code_size)(Program, size_t*);
  int (*code)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  const char* missing = nullptr;

  Library() {
    void* handle = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      missing = "libnvrtc.so.13 was not found";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (!function) missing = "libnvrtc lacks functions that CUDA 12 has";
    };
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(code_size, "nvrtcGetCUBINSize");
    find(code, "nvrtcGetCUBIN");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
  }
};

const Library& library() {
  static const Library found;
  return found;
}

}  // namespace

const char* compiler_missing() {
  return library().missing;
}

Compiled compile_text(const std::string& text, std::span<const Header> headers, int capability) {
  const Library& rtc = library();
  if (rtc.missing) return {{}, rtc.missing};
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::vector<const char*> names, contents;
  for (const auto& [name, content] : headers) {
    names.push_back(name);
    contents.push_back(content);
  }
  Program program = nullptr;
  if (rtc.create(&program, text.c_str(), "chain.cu", static_cast<int>(headers.size()),
                 contents.data(), names.data()))
    return {{}, "nvrtcCreateProgram failed"};
  const std::string target = "--gpu-architecture=sm_" + std::to_string(capability);
  const char* options[] = {target.c_str(), "--std=c++20", "-w"};
  Compiled made;
  size_t bytes = 0;
  if (!rtc.compile(program, static_cast<int>(std::size(options)), options) &&
      !rtc.code_size(program, &bytes) && bytes) {
    made.code.resize(bytes);
    if (rtc.code(program, made.code.data())) made.code.clear();
  }
  if (made.code.empty()) {
    made.error = "NVRTC failed";
    if (!rtc.log_size(program, &bytes) && bytes > 1) {
      made.error.resize(bytes);
      rtc.log(program, made.error.data());
    }
  }
  rtc.destroy(&program);
  return made;
}

}  // namespace argosy::cuda
