#pragma once

#include <vector>

#include "argosy/ps/table/sparse_table.h"

// What Sparse::prepare.. return with tier ssd. Their destructors take locks of shards.
namespace argosy::ps {

// Keys of one push or assign. Their rows are in memory, if there are any, and stay there.
struct Sparse::PreparedKeys final : Prepared {
  PreparedKeys(Sparse* table, std::span<const Key> keys);
  ~PreparedKeys() override;
  // Throws unless it was made by this table for these keys, and not used yet.
  void check(const Sparse* by, std::span<const Key> keys) const;
  // Groups are pinned and let go in order. REQUIRES: the lock of the group's shard.
  void pin(size_t group);
  void unpin(size_t group);

  Sparse* const table;
  GroupedLease batch;
  bool used = false;

 private:
  std::vector<Shard::Pin> pins_;  // by group
  size_t begin_ = 0, end_ = 0;    // of the groups that are pinned
};

// A shrink or the end of a day. The clocks on disk have turned, and of a shrink it is known which
// rows on disk it forgets; no row goes there meanwhile.
struct Sparse::PreparedTurn final : Prepared {
  PreparedTurn(Sparse* table, Turn kind);
  ~PreparedTurn() override;

  Sparse* const table;
  const Turn kind;
  std::vector<Shard::Pin> pins;  // shrink: by shard, those up to `pinned`
  size_t pinned = 0;
  // Of whoever has it alone; the rest is guarded by the table's day_mutex_.
  bool waiting = false;                                   // counted in waiting_turns_
  uint64_t days, shrinks;                                 // of the table when it was made
  bool stale() const ARGOSY_REQUIRES(table->day_mutex_);  // the clocks have turned since
};

}  // namespace argosy::ps
