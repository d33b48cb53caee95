// Changes of tables with tier ssd: first all that can be refused, then the change.
#include "argosy/ps/table/prepared.h"

#include <algorithm>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::ps {

Prepared::~Prepared() = default;

Sparse::PreparedKeys::PreparedKeys(Sparse* made_by, std::span<const Key> keys) : table(made_by) {
  batch->group(keys, table->turn_.load(std::memory_order_relaxed) * 389);
  pins_.resize(batch->groups().size());
}

Sparse::PreparedKeys::~PreparedKeys() {
  if (table->forked()) return;
  for (size_t group = begin_; group < end_; ++group) {
    Shard& shard = table->shards_[batch->groups()[group].shard];
    MutexLock lock(shard.mutex);
    shard.unpin(&pins_[group]);
  }
}

void Sparse::PreparedKeys::check(const Sparse* by, std::span<const Key> keys) const {
  ARGOSY_CHECK(table == by, invalid_argument)
      << "[table] " << by->config_.name << ": this change was prepared by the table "
      << table->config_.name << '.';
  const auto items = batch->items();
  const bool same = items.size() == keys.size() &&
                    std::all_of(items.begin(), items.end(),
                                [&](const Item& item) { return keys[item.place] == item.key; });
  ARGOSY_CHECK(same && !used, invalid_argument)
      << "[table] " << by->config_.name << ": expected a change of the " << items.size()
      << " keys that were prepared, once; got " << (same ? "them again" : "others") << ". Do this: "
      << "prepare each change.";
}

void Sparse::PreparedKeys::pin(size_t group) {
  pins_[group].items = batch->items(batch->groups()[group]);
  Shard& shard = table->shards_[batch->groups()[group].shard];
  shard.mutex.assert_held();
  shard.pin(&pins_[group]);
  end_ = group + 1;
}

void Sparse::PreparedKeys::unpin(size_t group) {
  Shard& shard = table->shards_[batch->groups()[group].shard];
  shard.mutex.assert_held();
  shard.unpin(&pins_[group]);
  begin_ = group + 1;
}

Sparse::PreparedTurn::PreparedTurn(Sparse* made_by, Turn what)
    : table(made_by), kind(what), days(made_by->days_), shrinks(made_by->shrinks_) {
  if (kind == Turn::shrink) pins.resize(kShards);
}

Sparse::PreparedTurn::~PreparedTurn() {
  if (table->forked()) return;
  for (size_t s = 0; s < pinned; ++s) {
    Shard& shard = table->shards_[s];
    MutexLock lock(shard.mutex);
    shard.unpin(&pins[s]);
  }
  if (!waiting) return;  // its maker may hold day_mutex_
  MutexLock day_lock(table->day_mutex_);
  if (stale()) return;
  --table->waiting_turns_[static_cast<size_t>(kind)];
  try {
    table->store_clocks();
  } catch (const Error& e) {  // The next turn stores them, or the destructor does.
    ARGOSY_LOG(warning) << "table '" << table->config_.name
                        << "': the database still has the day of a change that did not come to be: "
                        << e.what();
  }
}

bool Sparse::PreparedTurn::stale() const {
  return table->days_ != days || (kind == Turn::shrink && table->shrinks_ != shrinks);
}

std::unique_ptr<Prepared> Sparse::prepare(std::span<const Key> keys) {
  check_process();
  if (!disk_) return nullptr;
  check_room();
  auto prepared = std::make_unique<PreparedKeys>(this, keys);
  BatchCall call;
  call.stamp = turn_.load(std::memory_order_relaxed);
  const Totals totals{this, &call};
  std::vector<Item> missing;
  std::vector<MissingGroup> groups;
  walk(*prepared->batch, true, [&](Shard& shard, size_t group, auto items) {
    shard.mutex.assert_held();
    prepared->pin(group);
    const size_t missed = missing.size();
    shard.look_for(items, &missing);
    if (missing.size() > missed) {
      const uint32_t number = prepared->batch->groups()[group].shard;
      groups.push_back({number, missed, missing.size(), shard.version()});
    }
  });
  fetch(missing, groups, &call, [](Shard&, uint32_t, std::span<const Item>) {});
  return prepared;
}

// Clocks on disk are never behind those of the rows there: a process that dies in between must not
// leave rows that seem to be of the future.
void Sparse::store_clocks() {
  std::vector<ShardClock> clocks(kShards);
  for (uint32_t s = 0; s < kShards; ++s) {
    MutexLock lock(shards_[s].mutex);
    const ShardClock now = shards_[s].clock();
    clocks[s].day = static_cast<uint16_t>(now.day + (waiting_turns_[0] > 0));
    clocks[s].decays = static_cast<uint16_t>(now.decays + (waiting_turns_[1] > 0));
  }
  clocks_stored_ = false;
  disk_->store_clocks(clocks);
  clocks_stored_ = waiting_turns_[0] + waiting_turns_[1] == 0;
}

std::unique_ptr<Sparse::PreparedTurn> Sparse::prepare_turn(Turn kind) {
  auto prepared = std::make_unique<PreparedTurn>(this, kind);
  if (kind == Turn::shrink && (layout_.click || layout_.counted)) find_expired(prepared.get());
  auto& waiting = waiting_turns_[static_cast<size_t>(kind)];
  ++waiting;
  try {
    store_clocks();
  } catch (...) {
    --waiting;
    throw;
  }
  prepared->waiting = true;
  return prepared;
}

// Reads the disk without locks of shards. Clocks turn only under day_mutex_, which the caller
// holds.
void Sparse::find_expired(PreparedTurn* prepared) {
  std::vector<Key> keys;
  std::vector<std::byte> bytes;
  for (uint32_t s = 0; s < kShards; ++s) {
    Shard& shard = shards_[s];
    Shard::Pin& pin = prepared->pins[s];
    pin.all = true;
    uint64_t version;
    ShardClock then;
    {
      MutexLock lock(shard.mutex);
      shard.pin(&pin);
      prepared->pinned = s + 1;
      version = shard.version();
      then = shard.clock();
    }
    ++then.decays;
    const auto scan_shard = [&] {
      keys.clear();
      for (Disk::Scan scan(*disk_, s); scan.next();) {
        bytes.assign(scan.row().begin(), scan.row().end());
        layout_.refresh(then, scan.clock(), bytes);
        if (layout_.expired(bytes)) keys.push_back(scan.key());
      }
    };
    scan_shard();
    MutexLock lock(shard.mutex);
    if (shard.version() != version) scan_shard();
    pin.expired = keys;
  }
}

std::unique_ptr<Prepared> Sparse::prepare_shrink() {
  check_process();
  if (!disk_) return nullptr;
  MutexLock day_lock(day_mutex_);
  return prepare_turn(Turn::shrink);
}

std::unique_ptr<Prepared> Sparse::prepare_end_day() {
  check_process();
  if (!disk_) return nullptr;
  MutexLock day_lock(day_mutex_);
  return prepare_turn(Turn::day);
}

// The given one if it still holds, else a new one, kept in `own`.
Sparse::PreparedTurn* Sparse::prepared_turn(Prepared* given, Turn kind,
                                            std::unique_ptr<PreparedTurn>* own) {
  if (given) {
    auto* turn = dynamic_cast<PreparedTurn*>(given);
    ARGOSY_CHECK(turn && turn->table == this && turn->kind == kind, invalid_argument)
        << "[table] " << config_.name << ": expected what this table's prepare_"
        << (kind == Turn::day ? "end_day" : "shrink") << " returned.";
    turn->table->day_mutex_.assert_held();  // this one's
    if (turn->waiting && !turn->stale()) return turn;
  }
  *own = prepare_turn(kind);
  return own->get();
}

uint64_t Sparse::shrink(Prepared* given) {
  check_process();
  std::unique_ptr<PreparedTurn> own;  // goes after the lock
  MutexLock day_lock(day_mutex_);
  PreparedTurn* prepared = disk_ ? prepared_turn(given, Turn::shrink, &own) : nullptr;
  check_null(given);
  uint64_t gone = 0, gone_on_disk = 0;
  std::vector<Key> keys, expired;
  for (uint32_t s = 0; s < kShards; ++s) {
    Shard& shard = shards_[s];
    keys.clear();
    MutexLock lock(shard.mutex);
    if (prepared) {
      expired = std::move(prepared->pins[s].expired);
      prepared->pins[s].expired.clear();
      // Of a row that is in memory the disk has an old copy, which nobody reads.
      std::erase_if(expired, [&](Key key) ARGOSY_REQUIRES(shard.mutex) {
        return shard.has(key, index_hash(mix(key))) || shard.unerased().contains(key);
      });
    }
    shard.shrink(&keys);
    gone += keys.size();
    if (!prepared) continue;
    for (const Key key : expired) shard.add_deleted(key);
    gone_on_disk += expired.size();
    keys.insert(keys.end(), expired.begin(), expired.end());
    erase_on_disk(shard, s, keys);
  }
  if (prepared) {
    prepared->waiting = false;
    waiting_turns_[static_cast<size_t>(Turn::shrink)] = 0;
    ++shrinks_;
  }
  rows_.fetch_sub(static_cast<int64_t>(gone), std::memory_order_relaxed);
  return gone + gone_on_disk + enforce_cap();
}

void Sparse::end_day(Prepared* given) {
  check_process();
  std::unique_ptr<PreparedTurn> own;  // goes after the lock
  MutexLock day_lock(day_mutex_);
  PreparedTurn* prepared = disk_ ? prepared_turn(given, Turn::day, &own) : nullptr;
  check_null(given);
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
    MutexLock lock(shards_[s].mutex);
    shards_[s].end_day();
  }
  if (!disk_) return;
  prepared->waiting = false;
  waiting_turns_ = {};  // a shrink that was prepared before knows another day
  ++days_;
  int64_t moved = 0;
  try {
    for (uint32_t s = 0; s < kShards; ++s) {
      MutexLock lock(shards_[s].mutex);
      to_disk(shards_[s], s, cold, ~uint64_t{0}, turn, &moved);
    }
    save_all();
  } catch (const Error& e) {  // The day has ended all the same.
    ARGOSY_LOG(error) << "table '" << config_.name << "': rows stay in memory: " << e.what();
  }
  rows_.fetch_add(moved, std::memory_order_relaxed);
}

void Sparse::check_null(const Prepared* given) const {
  ARGOSY_CHECK(disk_ || !given, invalid_argument)
      << "[table] " << config_.name << ": a table in memory prepares nothing, got a change that "
      << "another table prepared.";
}

}  // namespace argosy::ps
