#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "argosy/base/mutex.h"
#include "argosy/ps/table/batch.h"
#include "argosy/ps/table/disk.h"
#include "argosy/ps/table/shard.h"
#include "argosy/ps/table/table.h"

namespace argosy::ps {

// Shards in memory and, with tier ssd, a database behind them. What is in memory is the truth; the
// database may have older copies of it. A row goes to disk before it leaves memory, and comes back
// when a call asks for its key.
class Sparse final : public SparseTable {
 public:
  explicit Sparse(const TableConfig& config);
  ~Sparse() override;

  const TableConfig& config() const override { return config_; }
  size_t pull_width() const override { return layout_.pull_width; }
  size_t push_width() const override { return layout_.push_width; }
  std::string layout() const override { return layout_.name(); }
  std::string text(std::span<const std::byte> row) const override {
    return layout_.text(row.data(), row.size());
  }
  bool counts_shows() const override { return layout_.click; }
  float shows(std::span<const std::byte> row) const override {
    if (layout_.class_of(row.size()) == RowClass::candidate) return -1;
    return layout_.click ? load<float>(row.data() + RowLayout::kShow) : 0;
  }
  float delta_score(std::span<const std::byte> row) const override {
    return layout_.click ? load<float>(row.data() + RowLayout::kDelta) : 0;
  }
  void take_delta_scores(std::span<const Key> keys, const float* scores) override;

  std::unique_ptr<Prepared> prepare(std::span<const Key> keys) override;
  std::unique_ptr<Prepared> prepare_shrink() override;
  std::unique_ptr<Prepared> prepare_end_day() override;
  uint64_t pull(std::span<const Key> keys, float* out, bool create) override;
  uint64_t push(std::span<const Key> keys, const float* values, const PushOptions& options,
                Prepared* prepared) override;
  uint64_t assign(std::span<const Key> keys, const float* values, Prepared* prepared) override;
  void erase(std::span<const Key> keys) override;
  uint64_t lacking(std::span<const Key> keys) override;
  uint64_t shrink(Prepared* prepared) override;
  void end_day(Prepared* prepared) override;
  TableStats stats() const override;
  void copy_shard(uint32_t number, Selection selection, bool mark, Rows* rows,
                  std::vector<Key>* deleted) override;
  bool tracks_changes() const override;
  void stop_tracking() override;
  void put_rows(const Rows& rows) override;
  void clear() override;

 private:
  void check_process() const;

  bool forked() const;
  // Takes a lock that another thread has. `refusable`: throws if that one does not let go within
  // the disk's limit, since it may wait for a disk that hangs.
  void wait_for(Shard& shard, bool refusable) const ARGOSY_ACQUIRE(shard.mutex);
  // f(shard, group, items) under the lock of each shard that has some of the keys.
  template <class F>
  void walk(Grouped& batch, bool refusable, F&& f);
  // f(shard, items) under the lock of each shard that has some of the keys. Returns how many rows
  // were made.
  template <class F>
  uint64_t each_group(std::span<const Key> keys, BatchCall* call, bool look_on_disk, F&& f);
  // The same for a change, after its preparation; of rows on disk none is missing then.
  template <class F>
  uint64_t change(std::span<const Key> keys, Prepared* given, BatchCall* call, F&& f);
  // Adds what a call did to the table's counts when it ends, by an error too.
  struct Totals {
    Sparse* table;
    BatchCall* call;
    void add() const;
    ~Totals() { add(); }
  };
  uint64_t made(BatchCall* call);
  // Forgets rows of the lowest priority if there are more than max_rows. Returns how many.
  uint64_t enforce_cap();
  uint64_t evict_exactly(int64_t cap);
  uint64_t evict_by_shards(int64_t cap);

  // Tier ssd.
  struct MissingGroup {
    uint32_t shard;
    size_t begin, end;
    uint64_t version;  // of the shard when they were missing
  };
  // Reads keys that memory lacks, together and outside of locks, puts their rows into memory, and
  // calls f(shard, number, items) for each group under the lock of its shard.
  template <class F>
  void fetch(std::span<const Item> missing, std::span<const MissingGroup> groups, BatchCall* call,
             F&& f);
  void restore_missing(Shard& shard, const MissingGroup& group, std::span<const Item> items,
                       const Disk::Found& found, size_t* row, BatchCall* call)
      ARGOSY_REQUIRES(shard.mutex);
  void relieve(Shard& shard, uint32_t number, uint32_t stamp, int64_t* added)
      ARGOSY_REQUIRES(shard.mutex);
  void to_disk(Shard& shard, uint32_t number, uint64_t bound, uint64_t most, uint32_t stamp,
               int64_t* added) ARGOSY_REQUIRES(shard.mutex);
  void write_rows(Shard& shard, uint32_t number, const Rows& rows) ARGOSY_REQUIRES(shard.mutex);
  void save_all();  // what differs from disk
  // If the disk takes nothing, they are remembered as erased.
  void erase_on_disk(Shard& shard, uint32_t number, std::span<const Key> keys)
      ARGOSY_REQUIRES(shard.mutex);
  // Throws if the disk takes no rows and memory has as many above memory_rows as it may: before a
  // call that might make rows.
  void check_room();
  // Throws if a copy of changed rows is asked for and the shard cannot make one.
  void check_track(const Shard& shard, Selection selection) const ARGOSY_REQUIRES(shard.mutex);
  void copy_with_disk(uint32_t number, Selection selection, bool mark, Rows* rows,
                      std::vector<Key>* deleted);

  // What is prepared: prepared.h.
  enum class Turn : uint8_t { day, shrink };
  struct PreparedKeys;
  struct PreparedTurn;
  std::unique_ptr<PreparedTurn> prepare_turn(Turn kind) ARGOSY_REQUIRES(day_mutex_);
  PreparedTurn* prepared_turn(Prepared* given, Turn kind, std::unique_ptr<PreparedTurn>* own)
      ARGOSY_REQUIRES(day_mutex_);
  void find_expired(PreparedTurn* prepared) ARGOSY_REQUIRES(day_mutex_);
  void store_clocks() ARGOSY_REQUIRES(day_mutex_);  // those of the turns that wait, if any do
  void check_null(const Prepared* given) const;     // throws unless null, where there is no disk

  const TableConfig config_;
  const RowLayout layout_;
  std::array<RowChunks, 3> pools_;  // by RowClass
  std::vector<Shard> shards_;
  std::unique_ptr<Disk> disk_;  // tier ssd
  uint64_t share_ = 0;          // rows of a shard in memory, 0 for any number
  const uint32_t forks_;
  std::atomic<uint32_t> turn_{0};  // of calls; also the clock of stamps
  std::atomic<int64_t> rows_{0};
  std::atomic<uint64_t> rejected_{0};
  std::atomic<uint64_t> disk_reads_{0};
  static constexpr uint64_t kMostUnerased = uint64_t{1} << 20;
  std::atomic<uint64_t> unerased_{0};       // keys in the shards' unerased()
  std::atomic<uint64_t> failed_writes_{0};  // of rows that were to leave memory
  Mutex cap_mutex_;  // one thread at a time looks for rows to forget; before locks of shards
  std::atomic<uint32_t> cap_cursor_{0};
  Mutex day_mutex_;  // shrink and end_day come one after another; taken before locks of shards
  // The turns of the last days' ends.
  std::vector<uint32_t> day_ends_ ARGOSY_GUARDED_BY(day_mutex_);
  std::array<uint32_t, 2> waiting_turns_ ARGOSY_GUARDED_BY(day_mutex_){};  // prepared, by Turn
  uint64_t days_ ARGOSY_GUARDED_BY(day_mutex_) = 0;
  uint64_t shrinks_ ARGOSY_GUARDED_BY(day_mutex_) = 0;       // both since the table was opened
  bool clocks_stored_ ARGOSY_GUARDED_BY(day_mutex_) = true;  // those on disk are those in memory
};

template <class F>
void Sparse::walk(Grouped& batch, bool refusable, F&& f) {
  constexpr size_t kAhead = 24;  // keys whose index lines are on their way
  const auto items = batch.items();
  const auto groups = batch.groups();
  size_t ahead = 0, ahead_group = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const size_t to = std::min(items.size(), groups[g].end + kAhead);
    for (; ahead < to; ++ahead) {
      if (ahead == groups[ahead_group].end) ++ahead_group;
      shards_[groups[ahead_group].shard].prefetch(items[ahead].hash);
    }
    Shard& shard = shards_[groups[g].shard];
    if (!shard.mutex.try_lock()) wait_for(shard, refusable);
    MutexLock lock(shard.mutex, std::adopt_lock);
    f(shard, g, batch.items(groups[g]));
  }
}

template <class F>
void Sparse::fetch(std::span<const Item> missing, std::span<const MissingGroup> groups,
                   BatchCall* call, F&& f) {
  if (groups.empty()) return;
  disk_reads_.fetch_add(missing.size(), std::memory_order_relaxed);
  Disk::Found found;
  disk_->read(missing, &found);
  size_t row = 0;
  for (const auto& group : groups) {
    Shard& shard = shards_[group.shard];
    const auto items = missing.subspan(group.begin, group.end - group.begin);
    if (!shard.mutex.try_lock()) wait_for(shard, true);
    MutexLock lock(shard.mutex, std::adopt_lock);
    restore_missing(shard, group, items, found, &row, call);
    f(shard, group.shard, items);
  }
}

}  // namespace argosy::ps
