#include "argosy/ps/table/index.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "argosy/base/error.h"

namespace argosy::ps {

namespace {
// Of 16 slots, at most 14 are used on average. At 0.875 about a quarter of the buckets are full.
constexpr uint64_t kUsed = 14;
}  // namespace

uint32_t* Index::reset(uint32_t rows, uint64_t handles) {
  const uint64_t buckets = (uint64_t{rows} + kUsed - 1) / kUsed + 1;
  const auto bits = static_cast<uint32_t>(std::bit_width(handles + 2));
  ARGOSY_CHECK(bits < 32, memory) << "[table] a shard cannot hold " << handles
                                  << " handles. Do this: use more servers.";
  const size_t bytes = 4 * kWidth * buckets;
  auto* entries = static_cast<uint32_t*>(std::aligned_alloc(64, bytes));
  if (!entries) throw std::bad_alloc();
  std::memset(entries, 0xff, bytes);
  uint32_t* old = this->entries();
  // A prefetch between the two stores may compute an address past the end: harmless.
  entries_.store(entries, std::memory_order_relaxed);
  buckets_.store(buckets, std::memory_order_relaxed);
  end_ = entries + kWidth * buckets;
  used_ = 0;
  limit_ = static_cast<uint32_t>(std::min<uint64_t>(kUsed * buckets, kWidth * buckets - 1));
  handle_bits_ = bits;
  handle_mask_ = (1u << bits) - 1;
  return old;
}

void Index::release(uint32_t* entries) {
  std::free(entries);
}

}  // namespace argosy::ps
