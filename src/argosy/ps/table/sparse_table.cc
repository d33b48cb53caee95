#include "argosy/ps/table/sparse_table.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/log.h"
#include "argosy/ps/table/prepared.h"

namespace argosy::ps {
namespace {

// How many forks this process descends from, counted from the load of this library.
std::atomic<uint32_t> forks{0};
[[maybe_unused]] const int watching_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

Sparse::Sparse(const TableConfig& config)
    : config_(config),
      layout_(config),
      pools_{RowChunks(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[0])),
             RowChunks(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[1])),
             RowChunks(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[2]))},
      shards_(kShards),
      forks_(forks.load(std::memory_order_relaxed)) {
  const bool tiered = config.tier == "ssd";
  for (auto& shard : shards_) shard.open(&layout_, &pools_[0], &pools_[1], &pools_[2], tiered);
  if (!tiered) return;
  disk_ = std::make_unique<Disk>(config.directory, layout_.name());
  if (config.memory_rows) share_ = std::max<uint64_t>(config.memory_rows / kShards, 1);
  const auto clocks = disk_->clocks();
  for (uint32_t s = 0; s < kShards; ++s) shards_[s].set_clock(clocks[s]);
}

Sparse::~Sparse() {
  if (!disk_ || forked()) {
    // In a forked child the database has no threads to close it with.
    if (disk_) disk_.release();
    return;
  }
  try {
    save_all();
    if (!clocks_stored_) store_clocks();
  } catch (const std::exception& e) {
    ARGOSY_LOG(error) << "table '" << config_.name
                      << "': rows in memory were not saved to disk: " << e.what();
  }
}

bool Sparse::forked() const {
  return forks.load(std::memory_order_relaxed) != forks_;
}

void Sparse::check_process() const {
  ARGOSY_CHECK(!forked(), runtime)
      << "[table] " << config_.name << ": this process was forked from the one that made the "
      << "table, whose locks may be held for ever here. Do this: make tables after the fork, or "
      << "start workers with the method 'spawn'.";
}

void Sparse::wait_for(Shard& shard, bool refusable) const ARGOSY_UNCHECKED {
  if (!refusable) return shard.mutex.lock();
  const auto limit = disk_->limit();
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    ARGOSY_CHECK(left.count() > 0, timeout)
        << "[table] " << config_.name << ": shard " << static_cast<int64_t>(&shard - &shards_[0])
        << " was in use by another call for " << static_cast<int64_t>(limit.count())
        << " ms, which waits for the disk of '" << config_.directory
        << "', most likely. Do this: look at its disk, which may hang; or allow it more by "
           "ARGOSY_PS_DISK_SECONDS.";
    // std::mutex takes no limit, and one that does is unknown to the thread sanitizer.
    timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    const int64_t nanoseconds = end.tv_nsec + left.count() % 1000 * 1'000'000;
    end.tv_sec += left.count() / 1000 + nanoseconds / 1'000'000'000;
    end.tv_nsec = nanoseconds % 1'000'000'000;
    if (pthread_mutex_timedlock(shard.mutex.native_handle(), &end) == 0) return;
  }
}

// What was done before an error counts too.
void Sparse::Totals::add() const {
  table->rows_.fetch_add(std::exchange(call->made, 0) + std::exchange(call->moved, 0),
                         std::memory_order_relaxed);
  table->rejected_.fetch_add(std::exchange(call->rejected, 0), std::memory_order_relaxed);
}

template <class F>
uint64_t Sparse::each_group(std::span<const Key> keys, BatchCall* call, bool look_on_disk, F&& f) {
  check_process();
  const uint32_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  call->stamp = turn;
  std::vector<Item> missing;
  std::vector<MissingGroup> missing_groups;
  if (disk_ && look_on_disk) call->missing = &missing;
  GroupedLease batch;
  batch->group(keys, turn * 389);
  const Totals totals{this, call};
  walk(*batch, call->missing, [&](Shard& shard, size_t group, std::span<const Item> items) {
    shard.mutex.assert_held();
    const uint32_t number = batch->groups()[group].shard;
    const size_t missed = missing.size();
    f(shard, items);
    if (missing.size() > missed) {
      missing_groups.push_back({number, missed, missing.size(), shard.version()});
    } else if (share_) {
      relieve(shard, number, turn, &call->moved);
    }
  });
  call->missing = nullptr;
  fetch(missing, missing_groups, call, [&](Shard& shard, uint32_t number, auto items) {
    shard.mutex.assert_held();
    f(shard, items);
    if (share_) relieve(shard, number, turn, &call->moved);
  });
  return made(call);
}

template <class F>
uint64_t Sparse::change(std::span<const Key> keys, Prepared* given, BatchCall* call, F&& f) {
  if (!disk_) {
    check_null(given);
    return each_group(keys, call, false, f);
  }
  check_process();
  std::unique_ptr<Prepared> own;
  if (!given) own = prepare(keys);
  auto* prepared = dynamic_cast<PreparedKeys*>(given ? given : own.get());
  ARGOSY_CHECK(prepared, invalid_argument)
      << "[table] " << config_.name << ": expected what prepare(keys) returned.";
  if (given) prepared->check(this, keys);
  prepared->used = true;
  const uint32_t turn = call->stamp = turn_.fetch_add(1, std::memory_order_relaxed);
  const Totals totals{this, call};
  walk(*prepared->batch, false, [&](Shard& shard, size_t group, std::span<const Item> items) {
    shard.mutex.assert_held();
    f(shard, items);
    prepared->unpin(group);
    if (share_) relieve(shard, prepared->batch->groups()[group].shard, turn, &call->moved);
  });
  return made(call);
}

uint64_t Sparse::made(BatchCall* call) {
  const int64_t made = call->made;
  Totals{this, call}.add();
  enforce_cap();
  return static_cast<uint64_t>(std::max<int64_t>(made, 0));
}

uint64_t Sparse::pull(std::span<const Key> keys, float* out, bool create) {
  if (create) check_room();
  BatchCall call;
  call.create = create;
  return each_group(keys, &call, true, [&](Shard& shard, std::span<const Item> items) {
    shard.mutex.assert_held();
    shard.pull(items, out, &call);
  });
}

uint64_t Sparse::push(std::span<const Key> keys, const float* values, const PushOptions& options,
                      Prepared* prepared) {
  BatchCall call;
  call.learning_rate = options.learning_rate;
  return change(keys, prepared, &call, [&](Shard& shard, std::span<const Item> items) {
    shard.mutex.assert_held();
    shard.push(items, values, &call);
  });
}

uint64_t Sparse::assign(std::span<const Key> keys, const float* values, Prepared* prepared) {
  BatchCall call;
  return change(keys, prepared, &call, [&](Shard& shard, std::span<const Item> items) {
    shard.mutex.assert_held();
    shard.assign(items, values, &call);
  });
}

void Sparse::take_delta_scores(std::span<const Key> keys, const float* scores) {
  constexpr size_t kKeys = 1 << 16;  // a tier on disk has them in memory meanwhile
  for (size_t i = 0; i < keys.size() && layout_.click; i += kKeys) {
    const auto some = keys.subspan(i, std::min(kKeys, keys.size() - i));
    BatchCall call;
    change(some, nullptr, &call, [&](Shard& shard, std::span<const Item> items) {
      shard.mutex.assert_held();
      shard.take_delta_scores(items, scores + i);
    });
  }
}

uint64_t Sparse::lacking(std::span<const Key> keys) {
  const std::unique_ptr<Prepared> from_disk = prepare(keys);
  GroupedLease batch;
  batch->group(keys, 0);
  std::vector<Item> missing;
  walk(*batch, true, [&](Shard& shard, size_t, std::span<const Item> items) {
    shard.mutex.assert_held();
    shard.look_for(items, &missing);
  });
  std::vector<Key> different;
  for (const Item& item : missing) different.push_back(item.key);
  std::sort(different.begin(), different.end());
  return std::unique(different.begin(), different.end()) - different.begin();
}

void Sparse::erase(std::span<const Key> keys) {
  // What the disk cannot erase is remembered in memory.
  if (disk_ && unerased_.load(std::memory_order_relaxed) > kMostUnerased) disk_->recover();
  BatchCall call;
  std::vector<Key> of_shard;
  each_group(keys, &call, false, [&](Shard& shard, std::span<const Item> items) {
    shard.mutex.assert_held();
    of_shard.clear();
    for (const Item& item : items) {
      const bool here = shard.erase(item.key, item.hash);
      call.made -= here;
      if (disk_ && !here) shard.add_deleted(item.key);
      of_shard.push_back(item.key);
    }
    if (!disk_) return;
    erase_on_disk(shard, shard_of(of_shard[0]), of_shard);
  });
}

TableStats Sparse::stats() const {
  check_process();
  TableStats stats;
  for (const auto& shard : shards_) {
    MutexLock lock(shard.mutex);
    stats.rows += shard.size();
    stats.memory_bytes += shard.bytes();
  }
  for (const auto& pool : pools_) stats.memory_bytes += pool.bytes();
  stats.memory_bytes += sizeof(*this) + shards_.size() * sizeof(Shard);
  stats.rejected = rejected_.load(std::memory_order_relaxed);
  stats.disk_reads = disk_reads_.load(std::memory_order_relaxed);
  if (disk_) stats.disk_rows = disk_->rows();
  return stats;
}

void Sparse::copy_shard(uint32_t number, Selection selection, bool mark, Rows* rows,
                        std::vector<Key>* deleted) {
  check_process();
  ARGOSY_CHECK(number < kShards, index)
      << "[table] shard: expected a number below " << kShards << ", got " << number << '.';
  Shard& shard = shards_[number];
  if (selection == Selection::all) {  // memory first: it takes longer than the copy
    size_t count, bytes;
    {
      MutexLock lock(shard.mutex);
      shard.measure(&count, &bytes);
    }
    rows->keys.reserve(rows->keys.size() + count + count / 64);
    rows->offsets.reserve(rows->offsets.size() + count + count / 64);
    rows->bytes.reserve(rows->bytes.size() + bytes + bytes / 64);
  }
  if (disk_) return copy_with_disk(number, selection, mark, rows, deleted);
  MutexLock lock(shard.mutex);
  check_track(shard, selection);
  shard.copy(selection, mark, rows, deleted);
}

void Sparse::check_track(const Shard& shard, Selection selection) const {
  ARGOSY_CHECK(selection != Selection::changed || !shard.lost_track(), runtime)
      << "[table] " << config_.name << ": since the last marked copy, more keys went than are "
      << "remembered. Do this: copy all rows; tracks_changes() tells when.";
}

bool Sparse::tracks_changes() const {
  check_process();
  return std::all_of(shards_.begin(), shards_.end(), [](const Shard& shard) {
    MutexLock lock(shard.mutex);
    return shard.tracking();
  });
}

void Sparse::stop_tracking() {
  check_process();
  for (auto& shard : shards_) {
    MutexLock lock(shard.mutex);
    shard.stop_tracking();
  }
}

void Sparse::put_rows(const Rows& rows) {
  ARGOSY_CHECK(rows.offsets.size() == rows.keys.size() + 1 &&
                   rows.offsets.back() <= rows.bytes.size() &&
                   std::is_sorted(rows.offsets.begin(), rows.offsets.end()),
               invalid_argument)
      << "[table] rows: offsets do not fit " << rows.keys.size() << " keys and "
      << rows.bytes.size() << " bytes.";
  const std::span<const std::byte> bytes(rows.bytes);
  const auto row = [&](size_t i) {
    return bytes.subspan(rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]);
  };
  for (size_t i = 0; i < rows.keys.size(); ++i) layout_.class_of(row(i).size());
  check_room();
  BatchCall call;
  std::vector<Key> without;  // candidates of a table that counted pushes, which this one does not
  each_group(rows.keys, &call, false, [&](Shard& shard, std::span<const Item> items) {
    shard.mutex.assert_held();
    for (const Item& item : items) {
      if (layout_.keeps(row(item.place).size()))
        call.made += shard.put(item.key, item.hash, row(item.place), call.stamp);
      else
        without.push_back(item.key);
    }
  });
  erase(without);
}

void Sparse::clear() {
  check_process();
  if (disk_) disk_->clear();
  for (auto& shard : shards_) {
    MutexLock lock(shard.mutex);
    rows_.fetch_sub(static_cast<int64_t>(shard.size()), std::memory_order_relaxed);
    unerased_.fetch_sub(shard.unerased().size(), std::memory_order_relaxed);
    shard.clear();
  }
}

uint64_t Sparse::enforce_cap() {
  const auto cap = static_cast<int64_t>(config_.max_rows);
  if (cap == 0 || rows_.load(std::memory_order_relaxed) <= cap) return 0;
  return cap > 1'000'000 ? evict_by_shards(cap) : evict_exactly(cap);
}

// Keys are spread evenly, so the lowest 64th of each shard in turn is nearly the lowest of the
// table, and a call pays only for about as many rows as it made.
uint64_t Sparse::evict_by_shards(int64_t cap) {
  const uint32_t stamp = turn_.load(std::memory_order_relaxed);
  std::vector<uint64_t> priorities;
  uint64_t gone = 0;
  for (uint32_t tries = 0; tries < 64 * kShards && rows_.load(std::memory_order_relaxed) > cap;
       ++tries) {
    Shard& shard = shards_[cap_cursor_.fetch_add(1, std::memory_order_relaxed) & (kShards - 1)];
    MutexLock lock(shard.mutex);
    if (shard.size() == 0) continue;
    priorities.clear();
    shard.priorities(stamp, &priorities);
    const uint64_t most = priorities.size() / 64 + 1;
    const auto nth = priorities.begin() + static_cast<ptrdiff_t>(most - 1);
    std::nth_element(priorities.begin(), nth, priorities.end());
    uint64_t n = shard.evict(*nth - 1, most, stamp);
    n += shard.evict(*nth, most - n, stamp);
    rows_.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
    gone += n;
  }
  return gone;
}

// The lowest of all, and some more than must, so that the next calls need not look again.
uint64_t Sparse::evict_exactly(int64_t cap) {
  MutexLock cap_lock(cap_mutex_);
  const int64_t rows = rows_.load(std::memory_order_relaxed);
  if (rows <= cap) return 0;
  auto excess = static_cast<uint64_t>(rows - (cap - cap / 64));
  const uint32_t stamp = turn_.load(std::memory_order_relaxed);
  std::vector<uint64_t> priorities;
  for (auto& shard : shards_) {
    MutexLock lock(shard.mutex);
    shard.priorities(stamp, &priorities);
  }
  if (priorities.empty()) return 0;
  const auto nth = priorities.begin() +
                   static_cast<ptrdiff_t>(std::min<uint64_t>(priorities.size(), excess) - 1);
  std::nth_element(priorities.begin(), nth, priorities.end());
  const uint64_t bound = *nth;
  uint64_t gone = 0;
  // Strictly below first, so that of equal rows only as many go as must.
  for (const uint64_t limit : {bound - 1, bound}) {
    for (auto& shard : shards_) {
      if (excess == 0) break;
      MutexLock lock(shard.mutex);
      const uint64_t n = shard.evict(limit, excess, stamp);
      excess -= n;
      gone += n;
    }
  }
  rows_.fetch_sub(static_cast<int64_t>(gone), std::memory_order_relaxed);
  return gone;
}

SparseTable::~SparseTable() = default;
DenseTable::~DenseTable() = default;

void Rows::clear() {
  keys.clear();
  offsets.assign(1, 0);
  bytes.clear();
}

std::unique_ptr<SparseTable> make_sparse_table(const TableConfig& config) {
  validate(config);
  ARGOSY_CHECK(config.kind == "sparse", invalid_argument)
      << "[table] " << config.name << ": expected kind sparse, got " << config.kind << '.';
  return std::make_unique<Sparse>(config);
}

}  // namespace argosy::ps
