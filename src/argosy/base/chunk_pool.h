#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>

#include "argosy/base/memory.h"

namespace argosy::memory {

// Best-fit blocks out of chunks taken from a Backend. It never touches the memory that it manages,
// so it serves any device. Free neighbours merge at once. Requests of kHuge and more have chunks of
// their own, so that small blocks do not break up what a huge request will want again; a free huge
// block is given whole to a request that wastes at most an eighth of it.
//
// Not thread safe: the owner locks.
class ARGOSY_API ChunkPool {
 public:
  static constexpr size_t kHuge = size_t{16} << 20;

  // Sizes are rounded up to `granule`, a power of two.
  ChunkPool(const Backend* backend, int index, size_t granule)
      : backend_(backend), index_(index), granule_(granule) {}
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  size_t rounded(size_t bytes) const { return (bytes + granule_ - 1) & ~(granule_ - 1); }

  // `bytes` must be rounded. Null if the backend has no more, or `limit` bytes (0: none) would be
  // reserved; either way only after giving back what is free.
  void* allocate(size_t bytes, size_t limit);
  // False if `block` is not in use here.
  bool deallocate(void* block);
  // Gives wholly free chunks back until at most `keep` bytes of them are left.
  void release_free(size_t keep = 0);

  size_t reserved() const { return reserved_; }
  size_t in_use() const { return in_use_; }
  std::string dump() const;
  // Throws ErrorKind::internal if the books do not agree with each other.
  void check() const;

 private:
  struct Block;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeSet = std::set<Block*, BySize>;
  struct Block {
    char* address;
    size_t size;
    Block* before;  // neighbours in the same chunk
    Block* after;
    size_t used;  // 0: free
    bool huge;
    FreeSet::node_type node;  // while in use, so that freeing allocates nothing
    bool whole() const { return !before && !after; }
  };

  FreeSet& free_of(const Block& block) { return free_[block.huge]; }
  Block* find(size_t bytes, bool huge);
  Block* grow(size_t bytes, bool huge, size_t limit);
  void split(Block* block, size_t bytes);
  void merge_into(Block* left, Block* right);
  void release(Block* block);

  const Backend* backend_;
  int index_;
  size_t granule_;
  std::unordered_map<void*, Block*> used_;  // by address; owns, as do the free sets
  FreeSet free_[2];
  size_t free_whole_ = 0;  // bytes in wholly free chunks
  size_t reserved_ = 0, in_use_ = 0;
  int chunks_ = 0;
};

}  // namespace argosy::memory
