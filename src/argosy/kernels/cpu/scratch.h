#pragma once

#include <cstddef>
#include <cstdint>

#include "argosy/base/export.h"
#include "argosy/base/memory.h"

namespace argosy::cpu {

// Memory that nobody uses while the calling thread runs a kernel: what that thread's Scratch takes
// before it asks the pool. Ends with this object; they do not nest.
class ARGOSY_API SpareMemory {
 public:
  // begin: 64-byte aligned.
  SpareMemory(char* begin, size_t bytes);
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;

  // Null if there is not that much.
  static void* take(size_t bytes);
  // False if block is not of it. What was taken last is free again.
  static bool give(void* block, size_t bytes);
};

// Temporary CPU memory of a kernel, from the pool, 64-byte aligned and uninitialized.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), block_(SpareMemory::take(bytes)) {
    if (!block_) block_ = memory::allocate(Place{}, bytes);
  }
  ~Scratch() {
    if (!SpareMemory::give(block_, bytes_)) memory::deallocate(Place{}, block_, bytes_);
  }
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
