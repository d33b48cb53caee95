#include "argosy/ps/table/sparse_table.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::ps {
namespace {

// How many forks this process descends from, counted from the load of this library.
std::atomic<uint32_t> forks{0};
[[maybe_unused]] const int watching_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

constexpr size_t kAhead = 24;  // keys whose index lines are on their way

}  // namespace

Sparse::Sparse(const TableConfig& config)
    : config_(config),
      layout_(config),
      pools_{ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[0])),
             ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[1])),
             ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[2]))},
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
  if (!disk_ || forks.load(std::memory_order_relaxed) != forks_) {
    // In a forked child the database has no threads to close it with.
    if (disk_) disk_.release();
    return;
  }
  try {
    save_all();
  } catch (const std::exception& e) {
    ARGOSY_LOG(error) << "table '" << config_.name
                      << "': rows in memory were not saved to disk: " << e.what();
  }
}

void Sparse::check_process() const {
  ARGOSY_CHECK(forks.load(std::memory_order_relaxed) == forks_, runtime)
      << "[table] " << config_.name << ": this process was forked from the one that made the "
      << "table, whose locks may be held for ever here. Do this: make tables after the fork, or "
      << "start workers with the method 'spawn'.";
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
  const auto items = batch->items();
  const auto groups = batch->groups();
  // What was done before an error counts too.
  struct Totals {
    Sparse* table;
    BatchCall* call;
    int64_t made = 0;
    void add() {
      made += call->made;
      table->rows_.fetch_add(std::exchange(call->made, 0) + std::exchange(call->moved, 0),
                             std::memory_order_relaxed);
      table->rejected_.fetch_add(std::exchange(call->rejected, 0), std::memory_order_relaxed);
    }
    ~Totals() { add(); }
  } totals{this, call};
  size_t ahead = 0, ahead_group = 0;
  for (const auto& group : groups) {
    const size_t to = std::min(items.size(), group.end + kAhead);
    for (; ahead < to; ++ahead) {
      if (ahead == groups[ahead_group].end) ++ahead_group;
      shards_[groups[ahead_group].shard].prefetch(items[ahead].hash);
    }
    Shard& shard = shards_[group.shard];
    std::lock_guard lock(shard.mutex);
    const size_t missed = missing.size();
    f(shard, batch->items(group));
    if (missing.size() > missed) {
      missing_groups.push_back({group.shard, missed, missing.size(), shard.version()});
    } else if (share_) {
      relieve(shard, group.shard, turn, &call->moved);
    }
  }
  if (!missing_groups.empty()) {
    call->missing = nullptr;
    disk_reads_.fetch_add(missing.size(), std::memory_order_relaxed);
    Disk::Found found;
    disk_->read(missing, &found);
    size_t row = 0;
    for (const auto& group : missing_groups) {
      Shard& shard = shards_[group.shard];
      const auto of_group = std::span(missing).subspan(group.begin, group.end - group.begin);
      std::lock_guard lock(shard.mutex);
      restore_missing(shard, group, of_group, found, &row, call);
      f(shard, of_group);
      if (share_) relieve(shard, group.shard, turn, &call->moved);
    }
  }
  totals.add();
  enforce_cap();
  return static_cast<uint64_t>(std::max<int64_t>(totals.made, 0));
}

std::unique_ptr<Prepared> Sparse::prepare(std::span<const Key>) {
  check_process();
  check_room();
  return nullptr;
}

std::unique_ptr<Prepared> Sparse::prepare_shrink() {
  check_process();
  return nullptr;
}

std::unique_ptr<Prepared> Sparse::prepare_end_day() {
  check_process();
  return nullptr;
}

uint64_t Sparse::pull(std::span<const Key> keys, float* out, bool create) {
  if (create) check_room();
  BatchCall call;
  call.create = create;
  return each_group(keys, &call, true, [&](Shard& shard, std::span<const Item> items) {
    shard.pull(items, out, &call);
  });
}

uint64_t Sparse::push(std::span<const Key> keys, const float* values, const PushOptions& options,
                      Prepared*) {
  check_room();
  BatchCall call;
  call.learning_rate = options.learning_rate;
  return each_group(keys, &call, true, [&](Shard& shard, std::span<const Item> items) {
    shard.push(items, values, &call);
  });
}

uint64_t Sparse::assign(std::span<const Key> keys, const float* values, Prepared*) {
  check_room();
  BatchCall call;
  return each_group(keys, &call, true, [&](Shard& shard, std::span<const Item> items) {
    shard.assign(items, values, &call);
  });
}

void Sparse::erase(std::span<const Key> keys) {
  BatchCall call;
  std::vector<Key> of_shard;
  each_group(keys, &call, false, [&](Shard& shard, std::span<const Item> items) {
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

uint64_t Sparse::shrink(Prepared*) {
  check_process();
  std::lock_guard day_lock(day_mutex_);
  if (disk_) turn_clocks(0, 1);
  uint64_t gone = 0, gone_on_disk = 0;
  std::vector<Key> keys;
  for (uint32_t s = 0; s < kShards; ++s) {
    keys.clear();
    {
      std::lock_guard lock(shards_[s].mutex);
      shards_[s].shrink(&keys);
      if (disk_) erase_on_disk(shards_[s], s, keys);
    }
    gone += keys.size();
    if (disk_) gone_on_disk += shrink_disk(s);
  }
  rows_.fetch_sub(static_cast<int64_t>(gone), std::memory_order_relaxed);
  return gone + gone_on_disk + enforce_cap();
}

void Sparse::end_day(Prepared*) {
  check_process();
  std::lock_guard day_lock(day_mutex_);
  if (disk_) turn_clocks(1, 0);
  const uint32_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  const auto days = static_cast<uint32_t>(config_.accessor.ssd_unseen_days);
  // Of plain rows, those that no call used since then go to disk.
  uint64_t cold = Shard::coldness_of_days(days + 1);
  if (!layout_.click) {
    day_ends_.push_back(turn);
    if (day_ends_.size() > days + 1) day_ends_.erase(day_ends_.begin());
    cold = day_ends_.size() > days ? turn - day_ends_.front() + 1 : ~uint64_t{0};
  }
  for (uint32_t s = 0; s < kShards; ++s) {
    std::lock_guard lock(shards_[s].mutex);
    shards_[s].end_day();
  }
  if (!disk_) return;
  int64_t added = 0;
  try {
    for (uint32_t s = 0; s < kShards; ++s) {
      std::lock_guard lock(shards_[s].mutex);
      to_disk(shards_[s], s, cold, ~uint64_t{0}, turn, &added);
    }
    save_all();
  } catch (const Error& e) {  // The day has ended all the same.
    ARGOSY_LOG(error) << "table '" << config_.name << "': rows stay in memory: " << e.what();
  }
  rows_.fetch_add(added, std::memory_order_relaxed);
}

TableStats Sparse::stats() const {
  check_process();
  TableStats stats;
  for (const auto& shard : shards_) {
    std::lock_guard lock(shard.mutex);
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
      std::lock_guard lock(shard.mutex);
      shard.measure(&count, &bytes);
    }
    rows->keys.reserve(rows->keys.size() + count + count / 64);
    rows->offsets.reserve(rows->offsets.size() + count + count / 64);
    rows->bytes.reserve(rows->bytes.size() + bytes + bytes / 64);
  }
  if (disk_) return copy_with_disk(number, selection, mark, rows, deleted);
  std::lock_guard lock(shard.mutex);
  shard.copy(selection, mark, rows, deleted);
}

bool Sparse::tracks_changes() const {
  check_process();
  return std::all_of(shards_.begin(), shards_.end(), [](const Shard& shard) {
    std::lock_guard lock(shard.mutex);
    return shard.tracking();
  });
}

void Sparse::stop_tracking() {
  check_process();
  for (auto& shard : shards_) {
    std::lock_guard lock(shard.mutex);
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
  each_group(rows.keys, &call, false, [&](Shard& shard, std::span<const Item> items) {
    for (const Item& item : items) {
      call.made += shard.put(item.key, item.hash, row(item.place), call.stamp);
    }
  });
}

void Sparse::clear() {
  check_process();
  if (disk_) disk_->clear();
  for (auto& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    rows_.fetch_sub(static_cast<int64_t>(shard.size()), std::memory_order_relaxed);
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
    std::lock_guard lock(shard.mutex);
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
  std::lock_guard cap_lock(cap_mutex_);
  const int64_t rows = rows_.load(std::memory_order_relaxed);
  if (rows <= cap) return 0;
  auto excess = static_cast<uint64_t>(rows - (cap - cap / 64));
  const uint32_t stamp = turn_.load(std::memory_order_relaxed);
  std::vector<uint64_t> priorities;
  for (auto& shard : shards_) {
    std::lock_guard lock(shard.mutex);
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
      std::lock_guard lock(shard.mutex);
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
Prepared::~Prepared() = default;

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
