#pragma once

#include <array>
#include <atomic>
#include <memory>

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
    return layout_.click ? load<float>(row.data() + Layout::kShow) : 0;
  }

  std::unique_ptr<Prepared> prepare(std::span<const Key> keys) override;
  std::unique_ptr<Prepared> prepare_shrink() override;
  std::unique_ptr<Prepared> prepare_end_day() override;
  uint64_t pull(std::span<const Key> keys, float* out, bool create) override;
  uint64_t push(std::span<const Key> keys, const float* values, const PushOptions& options,
                Prepared* prepared) override;
  uint64_t assign(std::span<const Key> keys, const float* values, Prepared* prepared) override;
  void erase(std::span<const Key> keys) override;
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

  // f(shard, items) under the lock of each shard that has some of the keys. Returns how many rows
  // were made.
  template <class F>
  uint64_t each_group(std::span<const Key> keys, BatchCall* call, bool look_on_disk, F&& f);
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
  void restore_missing(Shard& shard, const MissingGroup& group, std::span<const Item> items,
                       const Disk::Found& found, size_t* row, BatchCall* call);
  // REQUIRES: the lock of the shard.
  void relieve(Shard& shard, uint32_t number, uint32_t stamp, int64_t* added);
  void to_disk(Shard& shard, uint32_t number, uint64_t bound, uint64_t most, uint32_t stamp,
               int64_t* added);
  // REQUIRES: the lock of the shard.
  void write_rows(Shard& shard, uint32_t number, const Rows& rows);
  void save_all();  // what differs from disk
  // REQUIRES: the lock of the shard. If the disk takes nothing, they are remembered as erased.
  void erase_on_disk(Shard& shard, uint32_t number, std::span<const Key> keys);
  // Throws if the disk takes no rows and memory has as many above memory_rows as it may: before a
  // call that might make rows.
  void check_room();
  void copy_with_disk(uint32_t number, Selection selection, bool mark, Rows* rows,
                      std::vector<Key>* deleted);
  uint64_t shrink_disk(uint32_t number);
  void turn_clocks(uint16_t days, uint16_t decays);

  const TableConfig config_;
  const Layout layout_;
  std::array<ChunkPool, 3> pools_;  // by RowClass
  std::vector<Shard> shards_;
  std::unique_ptr<Disk> disk_;  // tier ssd
  uint64_t share_ = 0;          // rows of a shard in memory, 0 for any number
  const uint32_t forks_;
  std::atomic<uint32_t> turn_{0};  // of calls; also the clock of stamps
  std::atomic<int64_t> rows_{0};
  std::atomic<uint64_t> rejected_{0};
  std::atomic<uint64_t> disk_reads_{0};
  std::atomic<uint64_t> failed_writes_{0};  // of rows that were to leave memory
  std::mutex cap_mutex_;  // one thread at a time looks for rows to forget; before locks of shards
  std::atomic<uint32_t> cap_cursor_{0};
  std::mutex day_mutex_;  // shrink and end_day come one after another; taken before locks of shards
  std::vector<uint32_t> day_ends_;  // the turns of the last days' ends; guarded by day_mutex_
};

}  // namespace argosy::ps
