#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/base/chunk_pool.h"

namespace argosy::cuda {

// A GPU's memory as one stream uses it. What the stream gives back it may use again at once, since
// its work runs in order; so a block goes through here without a look at the device.
//
// Small blocks wait for reuse in lists by exact size, and the lowest address is taken first: what
// asks for the same sizes again gets the same blocks, in whatever order they were given back, and
// can run as a graph. The rest is cut best-fit from chunks, whose free neighbours merge
// (ChunkPool). Not thread safe: the owner locks.
class StreamPool {
 public:
  static constexpr size_t kGranule = 512;
  static constexpr size_t kListed = size_t{1} << 20;  // blocks up to this have lists

  StreamPool(const memory::Backend* backend, int index) : chunks_(backend, index, kGranule) {}

  static size_t rounded(size_t bytes) {
    return (bytes + (bytes == 0) + kGranule - 1) & ~(kGranule - 1);
  }

  // `bytes` is rounded. Null where there is no memory, with nothing left in the lists.
  void* allocate(size_t bytes);
  void release(void* block, size_t bytes);
  // Gives lists to the chunks, and free chunks to the system.
  void release_cached();

  size_t reserved() const { return chunks_.reserved(); }
  size_t in_use() const { return chunks_.in_use() - listed_; }
  std::string report() const { return chunks_.dump(); }

 private:
  static constexpr size_t kLists = kListed / kGranule;
  static size_t list_of(size_t bytes) { return bytes / kGranule - 1; }
  void empty_lists();

  memory::ChunkPool chunks_;
  std::array<std::vector<void*>, kLists> lists_;  // heaps
  size_t listed_ = 0;                             // bytes in lists
};

}  // namespace argosy::cuda
