#pragma once

#include <string>

#include "argosy/base/device_link.h"

// NCCL as what joins GPUs. The library is loaded when a group of ranks first asks for it; its
// interface is declared in nccl.cc, so that building needs none of its headers. Nothing here needs
// a toolkit: what is CUDA's comes by `Native`.
namespace argosy::cuda {

struct Native {
  void* (*stream)(Stream) = nullptr;         // the cudaStream_t
  void (*enter)(Place) = nullptr;            // makes it the thread's current GPU
  std::string (*identity)(Place) = nullptr;  // of the GPU, alike in all processes
};

// path: of the library; empty: libnccl.so.2 as the loader finds it. It lives as long as the
// process.
DeviceLinker* nccl_linker(const Native& native, const std::string& path = {});

}  // namespace argosy::cuda
