#pragma once

#include <cstddef>
#include <map>

#include "argosy/base/export.h"

namespace argosy::memory {

// Addresses of which stretches are taken and given back, the first that is long enough. It touches
// no memory. Not thread safe: the owner locks.
class ARGOSY_API AddressRange {
 public:
  AddressRange(char* begin, size_t bytes);

  char* take(size_t bytes);  // null if there is no room
  // REQUIRES: taken before, with these bytes.
  void give_back(char* begin, size_t bytes);
  // Whether it is one of the addresses, taken or not. May be called by any thread.
  bool has(const void* address) const;

 private:
  char* const begin_;
  const size_t bytes_;
  std::map<char*, size_t> free_;  // no two of them touch
};

}  // namespace argosy::memory
