#pragma once

#include <atomic>
#include <cstdint>

// Who wants to see each op call, and whether some thread has automatic casting on. One byte for all
// of them, so that a call that nobody watches or casts pays one load and one branch.
namespace argosy::watch {

enum Bit : uint8_t { profile = 1, finite = 2, dtypes = 4, shapes = 8, autocast = 16 };

// Set by those who listen. Only the library asks, so that it needs no look-up.
extern std::atomic<uint8_t> bits [[gnu::visibility("hidden")]];

// Before dispatch.
inline bool any() {
  return bits.load(std::memory_order_relaxed) != 0;
}
// Does anybody look at calls?
inline bool watched() {
  return (bits.load(std::memory_order_relaxed) & ~autocast) != 0;
}
inline bool on(Bit bit) {
  return bits.load(std::memory_order_relaxed) & bit;
}
inline void set(Bit bit, bool value) {
  value ? bits.fetch_or(bit) : bits.fetch_and(static_cast<uint8_t>(~bit));
}

}  // namespace argosy::watch
