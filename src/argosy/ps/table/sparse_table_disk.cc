// What Sparse does only with a database behind its shards.
#include <algorithm>
#include <exception>
#include <optional>

#include "argosy/base/error.h"
#include "argosy/base/log.h"
#include "argosy/ps/table/sparse_table.h"

namespace argosy::ps {
namespace {

std::span<std::byte> row_of(Rows* rows, size_t i) {
  return {rows->bytes.data() + rows->offsets[i], rows->offsets[i + 1] - rows->offsets[i]};
}

void append(Rows* to, Key key, std::span<const std::byte> row) {
  to->keys.push_back(key);
  to->bytes.insert(to->bytes.end(), row.begin(), row.end());
  to->offsets.push_back(static_cast<uint32_t>(to->bytes.size()));
}

void drop_last(Rows* rows) {
  rows->keys.pop_back();
  rows->offsets.pop_back();
  rows->bytes.erase(rows->bytes.begin() + rows->offsets.back(), rows->bytes.end());
}

}  // namespace

void Sparse::restore_missing(Shard& shard, const MissingGroup& group, std::span<const Item> items,
                             const Disk::Found& found, size_t* row, BatchCall* call) {
  Disk::Found again;
  const Disk::Found* source = &found;
  size_t at = *row;
  for (size_t i = group.begin; i < group.end; ++i) *row += found.found[i];
  const bool stale = shard.version() != group.version;
  if (stale) {  // rows went to disk, or from it, since it was read
    disk_->read(items, &again);
    source = &again;
    at = 0;
  }
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!source->found[stale ? i : group.begin + i]) continue;
    const Rows& rows = source->rows;
    const auto* from = rows.bytes.data();
    bytes.assign(from + rows.offsets[at], from + rows.offsets[at + 1]);
    const ShardClock clock = source->clocks[at++];
    if (shard.has(items[i].key, items[i].hash)) continue;
    if (!shard.unerased().empty() && shard.unerased().contains(items[i].key)) continue;
    if (!layout_.keeps(bytes.size())) continue;
    layout_.refresh(shard.clock(), clock, bytes);
    shard.restore(items[i].key, items[i].hash, bytes, call->stamp);
    ++call->moved;
  }
}

void Sparse::relieve(Shard& shard, uint32_t number, uint32_t stamp, int64_t* added) {
  // Shards fill alike. Each begins at a place of its own, and how much leaves differs from time to
  // time, so that they do not all write in the same calls.
  const uint64_t early = shard.version() ? 0 : mix(number) % (share_ / 8 + 1);
  const uint64_t rows = shard.size(), full = share_ - early;
  if (rows <= full || shard.all_pinned()) return;
  if (disk_->failing() && rows <= share_ + share_ / 4) {
    try {
      disk_->recover();
    } catch (const Error&) {
      return;  // check_room sees to it
    }
  }
  // Some more than must, so that the next calls need not look again.
  const uint64_t spread = mix(uint64_t{stamp} << 32 | number) % (share_ / 16 + 1);
  const uint64_t excess = rows - full + share_ / 32 + spread;
  std::vector<uint64_t> cold;
  cold.reserve(rows);
  shard.coldness(stamp, &cold);
  const auto nth = cold.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(excess, rows) - 1);
  std::nth_element(cold.begin(), nth, cold.end(), [](uint64_t a, uint64_t b) { return a > b; });
  try {
    to_disk(shard, number, *nth, excess, stamp, added);
  } catch (const Error& e) {
    // A full disk must not make an error of a push that was applied. The rows stay in memory.
    if (failed_writes_.fetch_add(1, std::memory_order_relaxed) % 4096 == 0) {
      ARGOSY_LOG(error) << "table '" << config_.name
                        << "': rows stay in memory above memory_rows: " << e.what();
    }
  }
}

void Sparse::check_room() {
  if (!disk_ || !disk_->failing()) return;
  const auto rows =
      static_cast<uint64_t>(std::max<int64_t>(rows_.load(std::memory_order_relaxed), 0));
  if (!share_ || rows <= share_ * kShards + share_ * kShards / 4) return;
  disk_->recover();
}

void Sparse::erase_on_disk(Shard& shard, uint32_t number, std::span<const Key> keys) {
  if (keys.empty()) return;
  shard.new_version();
  for (Shard::Pin* pin : shard.pins()) {
    if (pin->expired.empty()) continue;
    for (const Key key : keys) {
      const auto at = std::lower_bound(pin->expired.begin(), pin->expired.end(), key);
      if (at != pin->expired.end() && *at == key) pin->expired.erase(at);
    }
  }
  try {
    disk_->erase(number, keys);
  } catch (const Error& e) {
    const size_t before = shard.unerased().size();
    shard.unerased().insert(keys.begin(), keys.end());
    unerased_.fetch_add(shard.unerased().size() - before, std::memory_order_relaxed);
    if (failed_writes_.fetch_add(1, std::memory_order_relaxed) % 4096 == 0) {
      ARGOSY_LOG(error) << "table '" << config_.name
                        << "': rows that went are still on disk: " << e.what();
    }
  }
}

void Sparse::write_rows(Shard& shard, uint32_t number, const Rows& rows) {
  if (auto& gone = shard.unerased(); !gone.empty()) {
    disk_->erase(number, std::vector<Key>(gone.begin(), gone.end()));
    unerased_.fetch_sub(gone.size(), std::memory_order_relaxed);
    gone.clear();
  }
  disk_->write(number, shard.clock(), rows);
}

void Sparse::to_disk(Shard& shard, uint32_t number, uint64_t bound, uint64_t most, uint32_t stamp,
                     int64_t* added) {
  std::vector<Key> keys;
  Rows unsaved;
  shard.collect_cold(bound, most, stamp, &keys, &unsaved);
  if (keys.empty()) return;
  std::exception_ptr error;
  try {
    write_rows(shard, number, unsaved);
  } catch (const Error&) {
    // Those that are on disk as they are can go all the same: reading must not fill the memory.
    error = std::current_exception();
    size_t n = 0;
    std::erase_if(keys, [&](Key key) {
      const bool differs = n < unsaved.keys.size() && unsaved.keys[n] == key;
      n += differs;
      return differs;
    });
  }
  shard.forget(keys);
  shard.new_version();
  *added -= static_cast<int64_t>(keys.size());
  if (error) std::rethrow_exception(error);
}

void Sparse::save_all() {
  Rows rows;
  for (uint32_t s = 0; s < kShards; ++s) {
    rows.clear();
    MutexLock lock(shards_[s].mutex);
    shards_[s].copy_unsaved(&rows);
    write_rows(shards_[s], s, rows);
    shards_[s].set_saved();
  }
}

void Sparse::copy_with_disk(uint32_t number, Selection selection, bool mark, Rows* rows,
                            std::vector<Key>* deleted) {
  Shard& shard = shards_[number];
  const bool serving = selection == Selection::base || selection == Selection::delta;
  WaitLock lock(shard.mutex);
  check_track(shard, selection);
  // A mark is set when all that the disk may refuse is done; what it takes is lost otherwise.
  if (selection == Selection::changed && !shard.all_changed()) {
    std::vector<Item> items;
    for (const Key key : shard.changed_on_disk()) {
      const uint32_t hash = index_hash(mix(key));
      if (!shard.has(key, hash)) items.push_back({key, hash, 0});
    }
    Disk::Found found;
    disk_->read(items, &found);
    shard.copy(selection, mark, rows, deleted);
    for (size_t i = 0; i < found.rows.keys.size(); ++i) {
      const auto row = row_of(&found.rows, i);
      layout_.refresh(shard.clock(), found.clocks[i], row);
      append(rows, found.rows.keys[i], row);
    }
    return;
  }

  const ShardClock clock = shard.clock();
  std::vector<Key> passed_over(shard.unerased().begin(), shard.unerased().end());
  shard.copy_keys(&passed_over);
  std::sort(passed_over.begin(), passed_over.end());
  const bool resets = serving && mark;
  std::optional<Disk::Scan> scan(std::in_place, *disk_, number);  // of this moment
  if (!resets) {
    shard.copy(selection, mark, rows, deleted);
    lock.unlock();
  }
  // The mark came before the scan, which reads without the lock: if it fails, what the mark took
  // was not copied.
  struct Undo {
    Shard* shard;
    ~Undo() {
      if (!shard) return;
      MutexLock guard(shard->mutex);
      shard->lose_track();
    }
  } undo{mark && !serving ? &shard : nullptr};
  // Delta scores of rows on disk are set to 0 by writing the rows again.
  Rows reset;
  while (scan->next()) {
    if (std::binary_search(passed_over.begin(), passed_over.end(), scan->key())) continue;
    append(rows, scan->key(), scan->row());
    const auto row = row_of(rows, rows->keys.size() - 1);
    layout_.refresh(clock, scan->clock(), row);
    if (serving && !layout_.selected(selection, row)) {
      drop_last(rows);
      continue;
    }
    if (serving && mark && layout_.click) {
      append(&reset, scan->key(), row);
      store<float>(row_of(&reset, reset.keys.size() - 1).data() + RowLayout::kDelta, 0);
    }
  }
  scan.reset();
  undo.shard = nullptr;
  if (!resets) return;
  shard.mutex.assert_held();  // it was not let go
  if (!reset.keys.empty()) {
    write_rows(shard, number, reset);
    shard.new_version();
  }
  shard.copy(selection, mark, rows, deleted);
}

}  // namespace argosy::ps
