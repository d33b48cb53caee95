#include "argosy/streamed/pinned.h"

#include <cstdlib>
#include <functional>
#include <string_view>

namespace argosy::streamed {

void* PinnedMemory::allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  void* block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (block) blocks_.emplace(reinterpret_cast<uintptr_t>(block), std::vector<Moment>());
  return block;
}

void PinnedMemory::note(const void* address, Moment copy) {
  auto after = blocks_.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (after == blocks_.begin()) return;
  std::vector<Moment>& copies = std::prev(after)->second;
  std::erase_if(copies, [&](Moment m) { return m.stream == copy.stream; });  // done before it
  copies.push_back(copy);
}

std::vector<Moment> PinnedMemory::close(const void* block) {
  auto node = blocks_.extract(reinterpret_cast<uintptr_t>(block));
  return node.empty() ? std::vector<Moment>() : std::move(node.mapped());
}

void PinnedMemory::free_block(void* block) noexcept {
  std::free(block);
}

uint64_t fingerprint(const void* bytes, size_t count) {
  return std::hash<std::string_view>()({static_cast<const char*>(bytes), count});
}

}  // namespace argosy::streamed
