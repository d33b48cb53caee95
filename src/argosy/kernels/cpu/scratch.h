#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/memory.h"

namespace argosy::cpu {

// Memory that nobody uses while the calling thread runs a kernel: what its Scratch, and that of
// pool threads in its loops, takes before it asks the pool of memory. For the life of this object.
class ARGOSY_API SpareMemory {
 public:
  // begin: 64-byte aligned.
  SpareMemory(char* begin, size_t bytes);
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;

  // Null if there is not that much.
  static void* take(size_t bytes);
  // False if block is not of it.
  static bool give(void* block) noexcept;

 private:
  struct Block {
    char *begin, *end;
  };
  char *const begin_, *const end_;
  void* const outer_;
  std::mutex mutex_;
  std::vector<Block> used_;  // guarded by mutex_, in order
};

// Temporary CPU memory of a kernel, from the pool, 64-byte aligned and uninitialized.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), block_(SpareMemory::take(bytes)) {
    if (!block_) block_ = memory::allocate(Place{}, bytes);
  }
  ~Scratch() {
    if (!SpareMemory::give(block_)) memory::deallocate(Place{}, block_, bytes_);
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
