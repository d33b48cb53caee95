#include "argosy/ps/table/batch.h"

#include <algorithm>
#include <memory>

#include "argosy/base/error.h"

namespace argosy::ps {

void Grouped::group(std::span<const Key> keys, uint32_t first) {
  const size_t n = keys.size();
  ARGOSY_CHECK(n < 0xffffffff, invalid_argument)
      << "[table] expected fewer than 2^32 keys in a call, got " << n << '.';
  count_ = n;
  if (items_.size() < n) items_.resize(n);
  groups_.clear();
  const auto turned = [&](uint64_t mixed) {
    return (shard_of_hash(mixed) - first) & (kShards - 1);
  };

  if (n <= 32) {  // cheaper than to look at all shards
    uint32_t shards[32];
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t mixed = mix(keys[i]);
      const uint32_t shard = turned(mixed);
      uint32_t at = i;
      for (; at > 0 && shards[at - 1] > shard; --at) {
        shards[at] = shards[at - 1];
        items_[at] = items_[at - 1];
      }
      shards[at] = shard;
      items_[at] = {keys[i], index_hash(mixed), i};
    }
    for (uint32_t i = 0; i < n; ++i) {
      if (i == 0 || shards[i] != shards[i - 1]) {
        if (i) groups_.back().end = i;
        groups_.push_back({(shards[i] + first) & (kShards - 1), i, static_cast<uint32_t>(n)});
      }
    }
    return;
  }

  uint32_t ends[kShards] = {};
  for (const Key key : keys) ++ends[turned(mix(key))];
  uint32_t begin = 0;
  for (uint32_t s = 0; s < kShards; ++s) {
    const uint32_t size = ends[s];
    if (size) groups_.push_back({(s + first) & (kShards - 1), begin, begin + size});
    ends[s] = begin;
    begin += size;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t mixed = mix(keys[i]);
    items_[ends[turned(mixed)]++] = {keys[i], index_hash(mixed), i};
  }
}

namespace {
// What this thread may take. A pointer: thread storage of a library loaded late is scarce.
thread_local std::unique_ptr<Grouped> spare;
}  // namespace

GroupedLease::GroupedLease() {
  if (!spare) spare = std::make_unique<Grouped>();
  grouped_ = spare.release();
}
GroupedLease::~GroupedLease() {
  if (spare || grouped_->items().size() > (size_t{1} << 22)) {
    delete grouped_;
  } else {
    spare.reset(grouped_);
  }
}

}  // namespace argosy::ps
