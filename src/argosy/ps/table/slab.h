#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::ps {

// Chunks of one size, cut from big regions that the system backs with huge pages where it can.
// Thread safe.
class RowChunks {
 public:
  explicit RowChunks(size_t chunk_bytes) : chunk_bytes_((chunk_bytes + 63) & ~size_t{63}) {}
  ~RowChunks();
  RowChunks(const RowChunks&) = delete;
  RowChunks& operator=(const RowChunks&) = delete;
  std::byte* take();
  void give(std::byte* chunk);  // its pages go back to the system
  size_t bytes() const;         // of chunks that are taken

 private:
  struct Region {
    std::byte* begin;
    size_t bytes;
  };
  const size_t chunk_bytes_;
  mutable Mutex mutex_;
  std::vector<Region> regions_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::byte*> free_ ARGOSY_GUARDED_BY(mutex_);
  size_t used_ ARGOSY_GUARDED_BY(mutex_) = 0;  // of the last region
  size_t taken_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

// Rows of one size, numbered from 0 without gaps. Not thread safe. Rows stay where they are, but
// for those of a slab that still fits its first chunk: this one grows by copying, so that small
// tables stay small.
class Slab {
 public:
  static constexpr uint32_t kChunkShift = 9, kChunkRows = 1 << kChunkShift;

  Slab() = default;
  ~Slab() { clear(); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  void open(RowChunks* pool, uint32_t stride) { pool_ = pool, stride_ = stride; }

  uint32_t size() const { return size_; }
  uint32_t stride() const { return stride_; }
  std::byte* row(uint32_t id) const {
    return chunks_[id >> kChunkShift] + size_t{id & (kChunkRows - 1)} * stride_;
  }
  uint32_t add();  // contents undefined
  void pop();      // the last row
  void clear();
  size_t bytes() const;  // outside the pool

 private:
  RowChunks* pool_ = nullptr;
  std::vector<std::byte*> chunks_;
  uint32_t stride_ = 0, size_ = 0;
  uint32_t first_capacity_ = 0;  // of chunks_[0], which is the pool's once this is kChunkRows
};

}  // namespace argosy::ps
