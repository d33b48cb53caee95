#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/config.h"
#include "argosy/ps/key.h"

namespace argosy::ps {

struct PushOptions {
  float learning_rate = -1;  // below 0: the table's own
};

// Rows as they are stored: what snapshots hold and tiers exchange. Row i is
// bytes[offsets[i], offsets[i + 1]); offsets has one more entry than keys.
struct ARGOSY_API Rows {
  std::vector<Key> keys;
  std::vector<uint32_t> offsets{0};
  std::vector<std::byte> bytes;
  void clear();
};

// Which rows a copy takes. `changed`: those pushed to since the last full or changed copy of the
// shard. base and delta are the accessor's selections for serving (all rows of a plain table).
enum class Selection : uint8_t { all, changed, base, delta };

struct TableStats {
  uint64_t rows = 0;          // in memory, with candidates of admission
  uint64_t memory_bytes = 0;  // resident: rows, index, slack
  uint64_t disk_rows = 0;
  uint64_t disk_reads = 0;  // keys that were looked for there, because memory had none
  uint64_t rejected = 0;    // values refused because they are not finite
};

// What a change needs so that nothing can refuse it any more: room on disk, rows that lie there.
// While it lives, rows of its keys do not leave memory (of a shrink: no row does), so keep it for
// one change. It must not outlive its table. One that was overtaken (the other of two prepared ends
// of a day, a shrink by the end of a day) is prepared again by the call that gets it.
class ARGOSY_API Prepared {
 public:
  virtual ~Prepared();
};

// A sparse table of one server (or of a process without servers). Every call may come from any
// thread, but not from a forked child of the process that made the table. A row is read and written
// under the lock of its shard, so it is never torn; calls over many keys take one shard after
// another and are not atomic as a whole.
class ARGOSY_API SparseTable {
 public:
  virtual ~SparseTable();
  virtual const TableConfig& config() const = 0;
  // Numbers in a pulled and in a pushed row.
  //   plain: dim, dim.
  //   click: show, click, weight, embedding.. (3 + dim); slot, show, click, d weight,
  //     d embedding.. (4 + dim).
  virtual size_t pull_width() const = 0;
  virtual size_t push_width() const = 0;

  // Do all of a change that can be refused, and nothing of it that shows. Throw (kind io for the
  // disk); then nothing has changed. The change that follows takes what they return, and cannot
  // fail but for memory. Null where nothing is needed (tables in memory).
  virtual std::unique_ptr<Prepared> prepare(std::span<const Key> keys) = 0;  // of push and assign
  virtual std::unique_ptr<Prepared> prepare_shrink() = 0;
  virtual std::unique_ptr<Prepared> prepare_end_day() = 0;

  // The calls below prepare by themselves where `prepared` is null. pull, push and assign return
  // how many rows they made, candidates of admission among them.

  // out[i] = row of keys[i]. A missing row: with `create` and admission, a new one; else zeros. If
  // it throws, some rows may have been made.
  virtual uint64_t pull(std::span<const Key> keys, float* out, bool create) = 0;
  // Applies values[i] to keys[i], in order (a key may occur twice). Rows that are missing are made
  // if admission lets them. A row of values with a NaN or infinity is dropped and counted. Click
  // rows: show, click and scores first; the embedding comes to be, and takes gradients from the
  // next push on, once the score has reached the threshold.
  virtual uint64_t push(std::span<const Key> keys, const float* values, const PushOptions& options,
                        Prepared* prepared = nullptr) = 0;
  // Sets weights [n, pull_width()], making rows; optimizer state starts anew.
  // Admission is not asked. Click rows whose embedding would be 0 need none.
  virtual uint64_t assign(std::span<const Key> keys, const float* values,
                          Prepared* prepared = nullptr) = 0;
  virtual void erase(std::span<const Key> keys) = 0;
  // How many of the keys, each once, have no row: at most so many a call with them makes.
  virtual uint64_t lacking(std::span<const Key> keys) = 0;

  // Decays show and click, then forgets rows: of low score, unseen for long, above the cap. Returns
  // how many went.
  virtual uint64_t shrink(Prepared* prepared = nullptr) = 0;
  // All rows are unseen for one more day.
  virtual void end_day(Prepared* prepared = nullptr) = 0;
  virtual TableStats stats() const = 0;

  // Appends the selected rows of a shard, all of one moment. With `changed`, the keys deleted since
  // then go to `deleted`: whoever reads the copy erases them first and puts the rows then, since a
  // key may have come back. `mark` makes this copy the one that the next `changed` starts from;
  // with base and delta it sets the delta score of the copied rows to 0 instead. shrink() changes
  // all click rows, and so does end_day().
  virtual void copy_shard(uint32_t shard, Selection selection, bool mark, Rows* rows,
                          std::vector<Key>* deleted) = 0;
  // Whether `changed` copies are possible: false before the first marked copy, and once so many
  // keys went since then that they were not remembered.
  virtual bool tracks_changes() const = 0;
  // Forgets what changed: until the next marked copy nothing is remembered, nothing grows.
  virtual void stop_tracking() = 0;
  // Puts rows as they were copied, over what is there. The layout of both tables must be equal.
  virtual void put_rows(const Rows& rows) = 0;
  // Names the layout of a row's bytes: rows may be exchanged between tables where it is equal.
  virtual std::string layout() const = 0;
  // A row for human eyes, tab separated, as the accessor names its parts.
  virtual std::string text(std::span<const std::byte> row) const = 0;
  // How often a copied row was shown, by its decayed count; below 0: it is none yet (a candidate of
  // admission). Plain rows count nothing.
  virtual bool counts_shows() const = 0;
  virtual float shows(std::span<const std::byte> row) const = 0;
  // The delta score of a row that was copied for serving (0 if it has none), and: takes so much off
  // the delta scores of these rows, since a copy that has them is in place.
  virtual float delta_score(std::span<const std::byte> row) const = 0;
  virtual void take_delta_scores(std::span<const Key> keys, const float* scores) = 0;
  virtual void clear() = 0;
};

// A dense table: this server's part of a block of numbers with one optimizer. Every call may come
// from any thread and is atomic.
//   dense: accessor.embedding says the rule; sgd, adam, adagrad (and adagrad_elementwise, the same
//     here), rmsprop, ftrl are those of the optimizer operations of a Program; sum adds. adagrad's
//     accumulators start at initial_g2sum.
//   summary: w = 0.999999 w + pushed (the statistics of data_norm).
//   global_step: adds what is pushed; counted in double, pulled as float.
class ARGOSY_API DenseTable {
 public:
  virtual ~DenseTable();
  virtual const TableConfig& config() const = 0;
  virtual size_t size() const = 0;
  virtual void pull(float* out) const = 0;
  // A push with a NaN or infinity is dropped and counted.
  virtual void push(const float* gradient, const PushOptions& options) = 0;
  virtual void assign(const float* values) = 0;
  // Weights and optimizer state, of one moment.
  virtual std::vector<std::byte> copy() const = 0;
  virtual void put(std::span<const std::byte> state) = 0;
  virtual uint64_t rejected() const = 0;  // pushes refused
};

ARGOSY_API std::unique_ptr<SparseTable> make_sparse_table(const TableConfig& config);
// `size`: how many of the table's numbers are here.
ARGOSY_API std::unique_ptr<DenseTable> make_dense_table(const TableConfig& config, size_t size);

}  // namespace argosy::ps
