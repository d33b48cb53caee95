#include "argosy/cuda/pool.h"

#include <algorithm>
#include <functional>

#include "argosy/base/error.h"

namespace argosy::cuda {

void* StreamPool::allocate(size_t bytes) {
  if (bytes <= kListed) {
    std::vector<void*>& list = lists_[list_of(bytes)];
    if (!list.empty()) {
      std::ranges::pop_heap(list, std::greater());
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
    std::vector<void*>& list = lists_[list_of(bytes)];
    list.push_back(block);
    std::ranges::push_heap(list, std::greater());
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
