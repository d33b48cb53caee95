#pragma once

#include <atomic>

#include "argosy/base/export.h"

// Numbers are drawn in the order of the calls, also where calls return before their work is done.
namespace argosy::random {

// Called before a Generator draws, is seeded or read, without any lock: a device whose queued work
// draws from the CPU's generators waits here until that has drawn. It returns at once for that work
// itself. Null where nothing is queued.
extern ARGOSY_API std::atomic<void (*)()> before_draw;

inline void wait_for_draws() {
  if (const auto wait = before_draw.load(std::memory_order_relaxed)) wait();
}

}  // namespace argosy::random
