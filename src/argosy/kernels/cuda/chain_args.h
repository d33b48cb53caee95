#pragma once

#include "argosy/kernels/cuda/divider.h"

// What the kernel of a fused chain is called with, as the host and NVRTC see it.
namespace argosy::cuda {

inline constexpr int kChainOperands = 12;  // in memory
inline constexpr int kChainForms = 4;      // ways in which these may lie
inline constexpr int kChainRank = 6;
inline constexpr int kChainNumbers = 16;  // steps with numbers
inline constexpr int kChainThreads = 256;

// Strides are of packs in the innermost dimension, of elements elsewhere.
struct ChainArgs {
  uint32_t items = 0;  // packs
  uint32_t zero = 0;   // what the compiler does not know to be 0
  uint32_t rest = 0;   // elements behind the last pack, of one dimension
  Divider size[kChainRank];
  int64_t strides[kChainRank][kChainForms] = {};
  void* data[kChainOperands] = {};
  struct alignas(8) Slot {
    unsigned char bytes[24];  // Numbers
  };
  Slot numbers[kChainNumbers] = {};
};

}  // namespace argosy::cuda
