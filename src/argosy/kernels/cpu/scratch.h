#pragma once

#include <cstddef>
#include <cstdint>

#include "argosy/base/memory.h"

namespace argosy::cpu {

// Temporary CPU memory of a kernel, from the pool, 64-byte aligned and uninitialized.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), block_(memory::allocate(Place{}, bytes)) {}
  ~Scratch() { memory::deallocate(Place{}, block_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T = char>
  T* as(int64_t offset = 0) const {
    return static_cast<T*>(block_) + offset;
  }

 private:
  size_t bytes_;
  void* block_;
};

}  // namespace argosy::cpu
