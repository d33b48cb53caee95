#pragma once

#include <span>
#include <vector>

#include "argosy/ps/table/shard.h"

namespace argosy::ps {

// Keys grouped by shard, in the order given within each.
class Grouped {
 public:
  struct Group {
    uint32_t shard;
    uint32_t begin, end;
  };
  // Groups start at the shard `first` and wrap around: threads that run through a table together
  // should not queue at the same locks. n < 2^32.
  void group(std::span<const Key> keys, uint32_t first);
  std::span<const Group> groups() const { return groups_; }
  std::span<const Item> items() const { return {items_.data(), count_}; }
  std::span<const Item> items(const Group& g) const {
    return {items_.data() + g.begin, g.end - g.begin};
  }

 private:
  std::vector<Item> items_;
  size_t count_ = 0;
  std::vector<Group> groups_;
};

// An instance that only the caller has until it is destroyed; its memory is used again later.
class GroupedLease {
 public:
  GroupedLease();
  ~GroupedLease();
  GroupedLease(const GroupedLease&) = delete;
  GroupedLease& operator=(const GroupedLease&) = delete;
  Grouped* operator->() const { return grouped_; }
  Grouped& operator*() const { return *grouped_; }

 private:
  Grouped* grouped_;
};

}  // namespace argosy::ps
