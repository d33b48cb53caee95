#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "argosy/base/error.h"
#include "argosy/ps/table/batch.h"
#include "argosy/ps/table/shard.h"
#include "argosy/ps/table/table.h"

namespace argosy::ps {
namespace {

// How many forks this process descends from, counted from the load of this library.
std::atomic<uint32_t> forks{0};
[[maybe_unused]] const int watching_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

class Sparse final : public SparseTable {
 public:
  explicit Sparse(const TableConfig& config)
      : config_(config),
        layout_(config),
        pools_{ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[0])),
               ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[1])),
               ChunkPool(size_t{Slab::kChunkRows} * (layout_.header + layout_.bytes[2]))},
        shards_(kShards),
        forks_(forks.load(std::memory_order_relaxed)) {
    for (auto& shard : shards_) shard.open(&layout_, &pools_[0], &pools_[1], &pools_[2]);
  }

  const TableConfig& config() const override { return config_; }
  size_t pull_width() const override { return layout_.pull_width; }
  size_t push_width() const override { return layout_.push_width; }
  std::string layout() const override { return layout_.name(); }
  std::string text(std::span<const std::byte> row) const override {
    return layout_.text(row.data(), row.size());
  }

  void pull(std::span<const Key> keys, float* out, bool create) override {
    BatchCall call;
    call.create = create;
    each_group(keys, &call,
               [&](Shard& shard, std::span<const Item> items) { shard.pull(items, out, &call); });
  }

  void push(std::span<const Key> keys, const float* values, const PushOptions& options) override {
    BatchCall call;
    call.learning_rate = options.learning_rate;
    each_group(keys, &call, [&](Shard& shard, std::span<const Item> items) {
      shard.push(items, values, &call);
    });
  }

  void assign(std::span<const Key> keys, const float* values) override {
    BatchCall call;
    each_group(keys, &call, [&](Shard& shard, std::span<const Item> items) {
      shard.assign(items, values, &call);
    });
  }

  void erase(std::span<const Key> keys) override {
    BatchCall call;
    each_group(keys, &call, [&](Shard& shard, std::span<const Item> items) {
      for (const Item& item : items) call.added -= shard.erase(item.key, item.hash);
    });
  }

  uint64_t shrink() override {
    check_process();
    uint64_t gone = 0;
    for (auto& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      gone += shard.shrink();
    }
    rows_.fetch_sub(static_cast<int64_t>(gone), std::memory_order_relaxed);
    return gone + enforce_cap();
  }

  void end_day() override {
    check_process();
    for (auto& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      shard.end_day();
    }
  }

  TableStats stats() const override {
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
    return stats;
  }

  void copy_shard(uint32_t number, Selection selection, bool mark, Rows* rows,
                  std::vector<Key>* deleted) override {
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
    std::lock_guard lock(shard.mutex);
    shard.copy(selection, mark, rows, deleted);
  }

  void put_rows(const Rows& rows) override {
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
    BatchCall call;
    each_group(rows.keys, &call, [&](Shard& shard, std::span<const Item> items) {
      for (const Item& item : items) {
        call.added += shard.put(item.key, item.hash, row(item.place), call.stamp, 0);
      }
    });
  }

  void clear() override {
    check_process();
    for (auto& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      rows_.fetch_sub(static_cast<int64_t>(shard.size()), std::memory_order_relaxed);
      shard.clear();
    }
  }

 private:
  void check_process() const {
    ARGOSY_CHECK(forks.load(std::memory_order_relaxed) == forks_, runtime)
        << "[table] " << config_.name << ": this process was forked from the one that made the "
        << "table, whose locks may be held for ever here. Do this: make tables after the fork, or "
        << "start workers with the method 'spawn'.";
  }

  template <class F>
  void each_group(std::span<const Key> keys, BatchCall* call, F&& f) {
    check_process();
    const uint32_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    call->stamp = turn;
    GroupedLease batch;
    batch->group(keys, turn * 389);
    // Lines of the index are on their way some keys before they are needed.
    constexpr size_t kAhead = 24;
    const auto items = batch->items();
    const auto groups = batch->groups();
    size_t ahead = 0, ahead_group = 0;
    for (const auto& group : groups) {
      const size_t to = std::min(items.size(), group.end + kAhead);
      for (; ahead < to; ++ahead) {
        if (ahead == groups[ahead_group].end) ++ahead_group;
        shards_[groups[ahead_group].shard].prefetch(items[ahead].hash);
      }
      Shard& shard = shards_[group.shard];
      std::lock_guard lock(shard.mutex);
      f(shard, batch->items(group));
    }
    if (call->added) rows_.fetch_add(call->added, std::memory_order_relaxed);
    if (call->rejected) rejected_.fetch_add(call->rejected, std::memory_order_relaxed);
    enforce_cap();
  }

  // Forgets rows of the lowest priority until max_rows / 64 more would fit. Returns how many.
  uint64_t enforce_cap();

  const TableConfig config_;
  const Layout layout_;
  std::array<ChunkPool, 3> pools_;  // by RowClass
  std::vector<Shard> shards_;
  const uint32_t forks_;
  std::atomic<uint32_t> turn_{0};  // of calls; also the clock of stamps
  std::atomic<int64_t> rows_{0};
  std::atomic<uint64_t> rejected_{0};
  std::mutex cap_mutex_;  // one thread at a time looks for rows to forget
};

uint64_t Sparse::enforce_cap() {
  const auto cap = static_cast<int64_t>(config_.max_rows);
  if (cap == 0 || rows_.load(std::memory_order_relaxed) <= cap) return 0;
  std::lock_guard cap_lock(cap_mutex_);
  const int64_t rows = rows_.load(std::memory_order_relaxed);
  if (rows <= cap) return 0;
  auto excess = static_cast<uint64_t>(rows - (cap - cap / 64));
  const uint32_t stamp = turn_.load(std::memory_order_relaxed);
  // Where rows are many, a part of the shards stands for all: keys are spread evenly.
  const uint32_t step = rows > 4'000'000 ? 16 : 1;
  std::vector<uint64_t> priorities;
  for (uint32_t s = 0; s < kShards; s += step) {
    std::lock_guard lock(shards_[s].mutex);
    shards_[s].priorities(stamp, &priorities);
  }
  if (priorities.empty()) return 0;
  const size_t nth = std::min(priorities.size() - 1, static_cast<size_t>((excess - 1) / step));
  std::nth_element(priorities.begin(), priorities.begin() + static_cast<ptrdiff_t>(nth),
                   priorities.end());
  const uint64_t bound = priorities[nth];
  uint64_t gone = 0;
  // Strictly below first, so that of equal rows only as many go as must.
  for (const uint64_t limit : {bound - 1, bound}) {
    for (auto& shard : shards_) {
      if (excess == 0) break;
      std::lock_guard lock(shard.mutex);
      const uint64_t n = shard.evict(limit, excess, stamp, nullptr);
      excess -= n;
      gone += n;
    }
  }
  rows_.fetch_sub(static_cast<int64_t>(gone), std::memory_order_relaxed);
  return gone;
}

}  // namespace

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
