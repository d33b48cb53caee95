#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/table/index.h"
#include "argosy/ps/table/layout.h"
#include "argosy/ps/table/slab.h"
#include "argosy/ps/table/table.h"

namespace argosy::ps {

// A key of a batch: `place` is where its values are.
struct Item {
  Key key;
  uint32_t hash;
  uint32_t place;
};
constexpr uint32_t index_hash(uint64_t mixed) {
  // The lowest 10 bits chose the shard, the highest ones the server.
  return static_cast<uint32_t>(mixed >> 10);
}

// What a batch brings to each shard, and takes away.
struct BatchCall {
  uint32_t stamp = 0;
  float learning_rate = 0;
  bool create = false;
  // Where keys go that are not in memory, in order; null: they are nowhere.
  std::vector<Item>* missing = nullptr;
  int64_t made = 0;   // rows that were nowhere; below 0 if more were erased
  int64_t moved = 0;  // from disk into memory; below 0 if more left
  uint64_t rejected = 0;
};

// One of the kShards parts of a table, in memory.
//
// Lock rule: `mutex` guards everything but prefetch(). Who holds it takes no other shard's; a
// thread holds the mutexes of pools and of the disk inside it, never the other way round.
class alignas(64) Shard {
 public:
  mutable Mutex mutex;

  // tiered: rows may lie on disk too; the shard remembers which ones differ from there.
  void open(const RowLayout* layout, RowChunks* base, RowChunks* full, RowChunks* candidates,
            bool tiered) ARGOSY_UNCHECKED;  // before any other call
  void prefetch(uint32_t hash) const ARGOSY_UNCHECKED { index_.prefetch(hash); }

  // Appends the items that have no row here.
  void look_for(std::span<const Item> items, std::vector<Item>* missing) const
      ARGOSY_REQUIRES(mutex);
  // out[place] for each item.
  void pull(std::span<const Item> items, float* out, BatchCall* call) ARGOSY_REQUIRES(mutex);
  void push(std::span<const Item> items, const float* values, BatchCall* call)
      ARGOSY_REQUIRES(mutex);
  void assign(std::span<const Item> items, const float* values, BatchCall* call)
      ARGOSY_REQUIRES(mutex);
  void take_delta_scores(std::span<const Item> items, const float* scores) ARGOSY_REQUIRES(mutex);
  bool erase(Key key, uint32_t hash) ARGOSY_REQUIRES(mutex);

  // Rows as copies of the row (see RowLayout).
  // put returns whether the key is new.
  bool put(Key key, uint32_t hash, std::span<const std::byte> row, uint32_t stamp)
      ARGOSY_REQUIRES(mutex);
  bool has(Key key, uint32_t hash) const ARGOSY_REQUIRES(mutex) {
    return find(key, hash) != Index::kNone;
  }
  void copy(Selection selection, bool mark, Rows* rows, std::vector<Key>* deleted)
      ARGOSY_REQUIRES(mutex);
  // Bytes that copying all takes at most, to reserve them before the lock is taken for long.
  void measure(size_t* rows, size_t* bytes) const ARGOSY_REQUIRES(mutex);

  // Keys that went are appended to `gone`.
  void shrink(std::vector<Key>* gone) ARGOSY_REQUIRES(mutex);
  void end_day() ARGOSY_REQUIRES(mutex);

  // The order in which rows are forgotten: the lowest first.
  void priorities(uint32_t stamp, std::vector<uint64_t>* to) const ARGOSY_REQUIRES(mutex);
  // Forgets up to `most` rows of priority <= bound. Returns how many.
  uint64_t evict(uint64_t bound, uint64_t most, uint32_t stamp) ARGOSY_REQUIRES(mutex);

  // Tiered. What keeps rows in memory, from pin() to unpin(): those of `items`, or all.
  struct Pin {
    std::span<const Item> items;
    bool all = false;
    // Keys on disk alone that a shrink is to forget, ascending. What is erased leaves it.
    std::vector<Key> expired;
  };
  void pin(Pin* pin) ARGOSY_REQUIRES(mutex) { pins_.push_back(pin); }
  void unpin(Pin* pin) ARGOSY_REQUIRES(mutex) { std::erase(pins_, pin); }
  bool all_pinned() const ARGOSY_REQUIRES(mutex);
  std::span<Pin* const> pins() const ARGOSY_REQUIRES(mutex) { return pins_; }

  // Tiered. How cold rows are: the highest go to disk first.
  void coldness(uint32_t stamp, std::vector<uint64_t>* to) const ARGOSY_REQUIRES(mutex);
  static uint64_t coldness_of_days(uint32_t days) { return uint64_t{days} << 32; }
  // Up to `most` rows of coldness >= bound that are not pinned: their keys, and copies of those
  // that differ from disk.
  void collect_cold(uint64_t bound, uint64_t most, uint32_t stamp, std::vector<Key>* keys,
                    Rows* unsaved) const ARGOSY_REQUIRES(mutex);
  // Copies of rows that differ from disk; and the word that now they do not.
  void copy_unsaved(Rows* rows) const ARGOSY_REQUIRES(mutex);
  void set_saved() ARGOSY_REQUIRES(mutex) { unsaved_.reset(); }
  void copy_keys(std::vector<Key>* keys) const ARGOSY_REQUIRES(mutex);
  void forget(std::span<const Key> keys) ARGOSY_REQUIRES(mutex);  // they are on disk
  // A row of the disk comes back. REQUIRES: it is not here.
  void restore(Key key, uint32_t hash, std::span<const std::byte> row, uint32_t stamp)
      ARGOSY_REQUIRES(mutex);
  bool tracking() const ARGOSY_REQUIRES(mutex) { return tracking_; }
  void stop_tracking() ARGOSY_REQUIRES(mutex);
  // More went since the mark than is remembered.
  bool lost_track() const ARGOSY_REQUIRES(mutex) { return lost_track_; }
  void lose_track() ARGOSY_REQUIRES(mutex);
  bool all_changed() const ARGOSY_REQUIRES(mutex) { return !tracking_ || all_changed_; }
  const std::unordered_set<Key>& changed_on_disk() const ARGOSY_REQUIRES(mutex) { return away_; }
  void add_deleted(Key key) ARGOSY_REQUIRES(mutex) {
    if (!tracking_) return;
    deleted_.push_back(key);
    check_track();
  }
  // Keys that went while the disk took no deletions: what it has of them counts no more.
  std::unordered_set<Key>& unerased() ARGOSY_REQUIRES(mutex) { return unerased_; }
  // Changes whenever rows of this shard on disk may have.
  uint64_t version() const ARGOSY_REQUIRES(mutex) { return version_; }
  void new_version() ARGOSY_REQUIRES(mutex) { ++version_; }

  uint64_t size() const ARGOSY_REQUIRES(mutex) {
    return slabs_[0].size() + slabs_[1].size() + slabs_[2].size();
  }
  size_t bytes() const ARGOSY_REQUIRES(mutex);  // outside the pools
  void clear() ARGOSY_REQUIRES(mutex);

  ShardClock clock() const ARGOSY_REQUIRES(mutex) { return {day_, decays_}; }
  void set_clock(ShardClock clock) ARGOSY_REQUIRES(mutex) {
    day_ = clock.day, decays_ = clock.decays;
  }

 private:
  static constexpr uint32_t kWindow = 32;
  static constexpr uint64_t kRemembered = 4096;  // keys that went, at least

  RowClass class_of(uint32_t handle) const {
    return static_cast<RowClass>(handle & ((1u << layout_->class_bits) - 1));
  }
  uint32_t id_of(uint32_t handle) const { return handle >> layout_->class_bits; }
  uint32_t handle_of(RowClass kind, uint32_t id) const {
    return id << layout_->class_bits | static_cast<uint32_t>(kind);
  }
  Slab& slab(RowClass kind) ARGOSY_REQUIRES(mutex) { return slabs_[static_cast<int>(kind)]; }
  const Slab& slab(RowClass kind) const ARGOSY_REQUIRES(mutex) {
    return slabs_[static_cast<int>(kind)];
  }
  std::byte* row(uint32_t handle) const ARGOSY_REQUIRES(mutex) {
    return slab(class_of(handle)).row(id_of(handle));
  }
  std::byte* payload(uint32_t handle) const ARGOSY_REQUIRES(mutex) {
    return row(handle) + layout_->header;
  }
  uint32_t row_bytes(RowClass kind) const { return layout_->bytes[static_cast<int>(kind)]; }
  uint16_t unseen(RowClass kind, const std::byte* payload) const ARGOSY_REQUIRES(mutex);

  uint32_t find(Key key, uint32_t hash) const ARGOSY_REQUIRES(mutex) {
    return index_.find(hash, [&](uint32_t handle) {
      mutex.assert_held();
      return load<Key>(row(handle)) == key;
    });
  }
  // Fills handles with where the items probably are and fetches the rows.
  void look_up(std::span<const Item> items, uint32_t* handles) const ARGOSY_REQUIRES(mutex);
  uint32_t verified(const Item& item, uint32_t handle) const ARGOSY_REQUIRES(mutex) {
    if (handle != Index::kNone && load<Key>(row(handle)) != item.key) [[unlikely]] {
      return find(item.key, item.hash);
    }
    return handle;
  }

  uint32_t add(Key key, uint32_t hash, RowClass kind) ARGOSY_REQUIRES(mutex);
  uint32_t create(Key key, uint32_t hash) ARGOSY_REQUIRES(mutex);  // a new base row
  // kNone unless admission lets the key in. `handle` is its candidate's or kNone.
  uint32_t admit(const Item& item, uint32_t handle, bool pushed, BatchCall* call)
      ARGOSY_REQUIRES(mutex);
  struct Move {
    uint32_t from = Index::kNone, to = Index::kNone;
  };
  Move remove(uint32_t handle) ARGOSY_REQUIRES(mutex);
  // Puts the last row of the class where this one was; tells what moved.
  Move close_gap(uint32_t handle) ARGOSY_REQUIRES(mutex);
  // Turns a row into one of another class, keeping the bytes that both have.
  uint32_t convert(uint32_t handle, uint32_t hash, RowClass kind, Move* moved)
      ARGOSY_REQUIRES(mutex);
  void start_embedding(uint32_t handle, Key key) ARGOSY_REQUIRES(mutex);
  void grow(uint64_t rows) ARGOSY_REQUIRES(mutex);
  void touch(uint32_t handle, uint32_t stamp) ARGOSY_REQUIRES(mutex) {
    if (layout_->stamped) store<uint32_t>(row(handle) + 8, stamp);
  }
  uint64_t priority(RowClass kind, const std::byte* row, uint32_t stamp) const
      ARGOSY_REQUIRES(mutex);

  void read_row(uint32_t handle, float* out) const ARGOSY_REQUIRES(mutex);
  // Up to kWindow items that are pushed together: where their rows are (kNone: nowhere), and
  // whether they have an embedding that this push may update.
  struct Window {
    uint32_t handles[kWindow];
    bool embedded[kWindow];
  };
  void push_window(std::span<const Item> items, const float* values, BatchCall* call)
      ARGOSY_REQUIRES(mutex);
  // Its parts, for each row of a push: inlined there.
  inline void admit_pushed(std::span<const Item> items, size_t i, BatchCall* call, Window* w)
      ARGOSY_REQUIRES(mutex);
  inline void count_click(std::span<const Item> items, size_t i, const float* value, Window* w)
      ARGOSY_REQUIRES(mutex);
  inline void update_rows(std::span<const Item> items, const float* values, const Window& w,
                          BatchCall* call) ARGOSY_REQUIRES(mutex);
  void append_copy(RowClass kind, const std::byte* row, Rows* rows) const ARGOSY_REQUIRES(mutex);
  struct Bits;
  // Those whose bit is set; null: all.
  void append_rows(RowClass kind, const Bits* chosen, Rows* rows) const ARGOSY_REQUIRES(mutex);
  // Of a copied row: what is told by the clock becomes what is told by itself.
  void finish_copy(RowClass kind, const std::byte* from, std::byte* copy) const
      ARGOSY_REQUIRES(mutex);

  // A bit for each row, by class.
  struct Bits {
    std::vector<uint64_t> words[3];
    bool get(RowClass kind, uint32_t id) const;
    void set(RowClass kind, uint32_t id, bool value);
    // Of the first `size` bits those that are set, ascending: f(id).
    template <class F>
    void each(RowClass kind, uint32_t size, F&& f) const;
    void reset();
  };
  // What is remembered of keys that went takes no more than the rows do.
  void check_track() ARGOSY_REQUIRES(mutex) {
    const uint64_t keys = deleted_.size() + away_.size();
    if (keys > kRemembered && keys > size()) [[unlikely]]
      lose_track();
  }
  void set_changed(uint32_t handle) ARGOSY_REQUIRES(mutex) {
    if (tracking_) changed_.set(class_of(handle), id_of(handle), true);
    if (tiered_) unsaved_.set(class_of(handle), id_of(handle), true);
  }
  void move_bits(RowClass from, uint32_t from_id, RowClass to, uint32_t to_id)
      ARGOSY_REQUIRES(mutex);
  uint32_t put_bytes(uint32_t handle, std::span<const std::byte> row, uint32_t stamp)
      ARGOSY_REQUIRES(mutex);
  uint64_t coldness(RowClass kind, const std::byte* row, uint32_t stamp) const
      ARGOSY_REQUIRES(mutex);

  const RowLayout* layout_ = nullptr;
  Index index_ ARGOSY_GUARDED_BY(mutex);
  Slab slabs_[3] ARGOSY_GUARDED_BY(mutex);
  uint16_t day_ ARGOSY_GUARDED_BY(mutex) = 0;
  uint16_t decays_ ARGOSY_GUARDED_BY(mutex) = 0;
  bool tracking_ ARGOSY_GUARDED_BY(mutex) = false;  // a marked copy was taken
  // Since then, too many keys went; not tracking_ then.
  bool lost_track_ ARGOSY_GUARDED_BY(mutex) = false;
  bool all_changed_ ARGOSY_GUARDED_BY(mutex) = false;  // since then, all rows were
  Bits changed_ ARGOSY_GUARDED_BY(mutex);              // since then
  std::vector<Key> deleted_ ARGOSY_GUARDED_BY(mutex);  // since then
  bool tiered_ = false;
  Bits unsaved_ ARGOSY_GUARDED_BY(mutex);                  // tiered: other than on disk
  std::unordered_set<Key> away_ ARGOSY_GUARDED_BY(mutex);  // changed, then gone to disk
  std::unordered_set<Key> unerased_ ARGOSY_GUARDED_BY(mutex);
  uint64_t version_ ARGOSY_GUARDED_BY(mutex) = 0;
  std::vector<Pin*> pins_ ARGOSY_GUARDED_BY(mutex);
};

}  // namespace argosy::ps
