#include "argosy/cuda/pool.h"

#include "argosy/base/error.h"

namespace argosy::cuda {

void* StreamPool::allocate(size_t bytes) {
  if (bytes <= kListed) {
    std::vector<void*>& list = lists_[list_of(bytes)];
    if (!list.empty()) {
      void* block = list.back();
      list.pop_back();
      listed_ -= bytes;
      return block;
    }
  }
  if (void* block = chunks_.allocate(bytes, 0)) return block;
  empty_lists();
  return chunks_.allocate(bytes, 0);
}

void StreamPool::release(void* block, size_t bytes) {
  if (bytes <= kListed) {
    lists_[list_of(bytes)].push_back(block);
    listed_ += bytes;
    return;
  }
  ARGOSY_INVARIANT(chunks_.deallocate(block));
}

void StreamPool::empty_lists() {
  for (std::vector<void*>& list : lists_) {
    for (void* block : list) chunks_.deallocate(block);
    list.clear();
  }
  listed_ = 0;
}

void StreamPool::release_cached() {
  empty_lists();
  chunks_.release_free();
}

}  // namespace argosy::cuda
