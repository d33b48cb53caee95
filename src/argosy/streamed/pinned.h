#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "argosy/streamed/ledger.h"

namespace argosy::streamed {

// Blocks of the host's memory that copies use while the host goes on. Not synchronized.
class PinnedMemory {
 public:
  void* allocate(size_t bytes);
  // A copy uses the block that the address is in.
  void note(const void* address, Moment copy);
  // Forgets a block; gives the copies that it has to outlive. free_block() ends it.
  std::vector<Moment> close(const void* block);
  static void free_block(void* block) noexcept;

 private:
  std::map<uintptr_t, std::vector<Moment>> blocks_;  // by first address
};

// Differs, but for chance, where the bytes do.
uint64_t fingerprint(const void* bytes, size_t count);

}  // namespace argosy::streamed
