#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"

namespace argosy::cuda {

// A tensor's elements as kernels see them. Strides in elements, 0 where it is broadcast.
inline constexpr int kMaxRank = 16;
struct View {
  void* data = nullptr;
  DType dtype = DType::float32;
  int rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
};

}  // namespace argosy::cuda
