#include "argosy/base/address_range.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace argosy::memory {

AddressRange::AddressRange(char* begin, size_t bytes)
    : begin_(begin), bytes_(bytes), free_{{begin, bytes}} {}

char* AddressRange::take(size_t bytes) {
  const auto fits = [bytes](const auto& stretch) { return stretch.second >= bytes; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return nullptr;
  const auto [begin, length] = *found;
  free_.erase(found);
  if (length > bytes) free_.emplace(begin + bytes, length - bytes);
  return begin;
}

void AddressRange::give_back(char* begin, size_t bytes) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == begin + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace_hint(after, begin, bytes);
}

bool AddressRange::has(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(begin_);
  return at - begin < bytes_;  // wraps below
}

}  // namespace argosy::memory
