#pragma once

namespace argosy::cuda {

// The GPU that use_gpu (cuda/device.h) made current on the calling thread; -1 where it never did.
extern constinit thread_local int current_gpu;

}  // namespace argosy::cuda
