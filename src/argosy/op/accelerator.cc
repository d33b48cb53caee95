#include "argosy/op/accelerator.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "argosy/base/device.h"
#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/op/library.h"

namespace argosy::op {
namespace {

// Beside the library that this code is in.
std::string cuda_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&cuda_library), &info) || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path() / "libargosy_cuda.so";
}

// What the library brings: adds its device and the launcher of its kernels.
using Start = void (*)();

}  // namespace

bool has_cuda() {
  static const bool there = access(cuda_library().c_str(), R_OK) == 0;
  return there;
}

int cuda_count() {
  if (Device* device = device::find(kAccelerator))
    return std::string_view(device->name()) == "gpu" ? device->count() : 0;
  if (!has_cuda()) return 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return 0;
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto get_count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  if (!init || !get_count || init(0) || get_count(&count)) return 0;
  return count;
}

void start_cuda() {
  static auto& mutex = *new Mutex;  // of whoever starts it
  MutexLock lock(mutex);
  if (Device* device = device::find(kAccelerator); device && device->name() == std::string("gpu"))
    return;
  ARGOSY_CHECK(has_cuda(), device)
      << "[gpu] this installation has no GPU support: " << cuda_library()
      << " is not there. Do this: use the CPU (device.set_device('cpu')), or build it with "
         "`make cuda`.";
  ARGOSY_CHECK(cuda_count() > 0, device)
      << "[gpu] there is no NVIDIA GPU, or no driver for it. Do this: see whether `nvidia-smi` "
         "lists "
         "one, whether CUDA_VISIBLE_DEVICES hides it, or use the CPU (device.set_device('cpu')).";
  const std::string path = cuda_library();
  load_library(path);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto start = handle ? reinterpret_cast<Start>(dlsym(handle, "argosy_cuda_start")) : nullptr;
  ARGOSY_CHECK(start, device) << "[gpu] " << path
                              << " is not what it is called. Do this: build it again.";
  start();
}

}  // namespace argosy::op
