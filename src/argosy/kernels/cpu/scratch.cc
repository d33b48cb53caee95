#include "argosy/kernels/cpu/scratch.h"

#include <algorithm>

#include "argosy/base/parallel_context.h"

namespace argosy::cpu {

SpareMemory::SpareMemory(char* begin, size_t bytes)
    : begin_(begin), end_(begin + bytes), outer_(parallel_context()) {
  parallel_context() = this;
}

SpareMemory::~SpareMemory() {
  parallel_context() = outer_;
}

// In the first gap that is large enough.
void* SpareMemory::take(size_t bytes) {
  auto* spare = static_cast<SpareMemory*>(parallel_context());
  const size_t size = (bytes + memory::kAlignment - 1) / memory::kAlignment * memory::kAlignment;
  if (!spare || size == 0 || size > static_cast<size_t>(spare->end_ - spare->begin_))
    return nullptr;
  std::lock_guard lock(spare->mutex_);
  char* at = spare->begin_;
  auto next = spare->used_.begin();
  while (next != spare->used_.end() && static_cast<size_t>(next->begin - at) < size)
    at = next++->end;
  if (next == spare->used_.end() && static_cast<size_t>(spare->end_ - at) < size) return nullptr;
  spare->used_.insert(next, {at, at + size});
  return at;
}

bool SpareMemory::give(void* block) noexcept {
  auto* spare = static_cast<SpareMemory*>(parallel_context());
  auto* at = static_cast<char*>(block);
  if (!spare || at < spare->begin_ || at >= spare->end_) return false;
  std::lock_guard lock(spare->mutex_);
  std::erase_if(spare->used_, [&](const Block& b) { return b.begin == at; });
  return true;
}

}  // namespace argosy::cpu
