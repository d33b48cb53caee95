#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/log.h"
#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/durable_gate.h"
#include "argosy/ps/service/log.h"
#include "argosy/ps/service/snapshot.h"

namespace argosy::ps {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Without snapshot_every, a log of this size, or of half of the tables', brings a snapshot: so
// recovery stays short.
constexpr uint64_t kLogBytes = uint64_t{1} << 30;
// Pushes wait while one piece is copied: a few ms.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
// While there are pushes, a copy takes no more of the disk and the cores than this, in bytes a
// second.
constexpr double kPace = 220e6;
// Snapshots that add to a complete one: at most so many, and half of its bytes in all.
constexpr size_t kMaxAdded = 16;
// A save copies again what changed meanwhile until little is left for the pause.
constexpr int kMaxPasses = 6;
constexpr uint64_t kFewBytes = uint64_t{4} << 20;
constexpr milliseconds kTurnLimit = minutes(10);
constexpr seconds kRetryAfter{10};

std::string name_of_save() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  char when[32], name[64];
  std::strftime(when, sizeof when, "%Y%m%dT%H%M%S", &utc);
  std::snprintf(name, sizeof name, "save-%s-%08x", when, static_cast<unsigned>(random_number()));
  return name;
}

class Store final : public Durability {
 public:
  explicit Store(Host& host) : host_(host) {
    const ServerOptions& o = host_.options();
    ARGOSY_CHECK(o.durability == "none" || o.durability == "snapshot" || o.durability == "log",
                 invalid_argument)
        << "[parameter_server] durability: expected none, snapshot or log, got '" << o.durability
        << "'.";
    keeps_ = o.durability != "none";
    logs_ = o.durability == "log";
    if (!keeps_) return;
    ARGOSY_CHECK(!o.directory.empty(), invalid_argument)
        << "[parameter_server] durability '" << o.durability
        << "' needs a directory. Do this: name one on a local disk.";
    own_ = join_path(o.directory,
                     "server-" + std::to_string(o.index) + "-of-" + std::to_string(o.servers));
    log_directory_ = join_path(own_, "log");
  }
  ~Store() override { stop(); }

  void recover() override;
  void enter() override { gate_.enter(); }
  bool try_enter() override { return gate_.try_enter(); }
  void leave() override { gate_.leave(); }
  void enter_alone() override {
    take_turn("a change of whole tables");
    gate_.enter_alone();
  }
  void leave_alone() override {
    gate_.leave_alone();
    turn_.give();
  }
  uint64_t append(std::span<const std::span<const std::byte>> pieces) override {
    return logs_ ? log_->append(pieces) : 0;
  }
  void when_durable(uint64_t position, std::function<void(const std::string&)> done) override {
    logs_ ? log_->when_durable(position, std::move(done)) : done({});
  }
  uint64_t save(const std::string& directory, int mode, const std::string& marker,
                const Extent& extent) override;
  void reserve_save(const std::string& marker) override;
  void prepare_save(const std::string& directory, int mode, const std::string& marker,
                    const Extent& extent) override;
  void pause(const std::string& marker, milliseconds limit) override;
  uint64_t finish_save(const std::string& marker) override;
  void publish_save(const std::string& marker) override;
  void cancel_save(const std::string& marker) override;
  uint64_t load(const std::string& directory, int mode, uint32_t table) override;
  void snapshot() override;
  std::string stats() override;
  void stop() override;

 private:
  enum class Step : uint8_t { busy, reserved, prepared, paused, finished };
  struct Save {
    std::string directory, marker;
    int mode = 0;
    uint32_t table = kAllTables;
    std::unique_ptr<SnapshotWriter> writer;
    Step step = Step::busy;
    bool cancelled = false;
    Clock::time_point deadline = Clock::time_point::max();  // of the next step
    Clock::time_point paused;
  };
  struct Copy {
    SparseTable* table;
    uint32_t shard;
    Rows rows;
    std::vector<Key> deleted;
  };

  void take_turn(const char* what);
  TableSet tables(uint32_t only = kAllTables) const;
  uint64_t position() const { return log_ ? log_->last() : 0; }
  Manifest manifest(const std::string& save, const std::string& after, int mode) const;
  void check_directory() const;
  // Copies all shards of all tables. With `consistent`, each piece with the log's position while
  // nobody is within a pass; with `positions`, shards without rows are written for theirs. Returns
  // bytes of rows. Throws what `interrupted` throws.
  template <class F>
  uint64_t dump(SnapshotWriter* writer, const std::vector<SparseTable*>& tables,
                Selection selection, bool mark, bool consistent, bool positions, F&& interrupted);
  // The rows shown most, a share of each table's (all rows of those that count no shows).
  template <class F>
  void dump_hottest(SnapshotWriter* writer, const std::vector<SparseTable*>& tables, float share,
                    F&& interrupted);
  enum class How : uint8_t { waiting, in_background, alone };
  void snapshot_now(How how);
  std::shared_ptr<Save> begin_save(const std::string& marker);
  std::shared_ptr<Save> step_of_save(const std::string& marker, Step from, const char* what);
  // The step has ended, well or not.
  void end_step(const std::shared_ptr<Save>& save, Step step, milliseconds limit);
  void drop(const std::shared_ptr<Save>& save);
  void run();

  Host& host_;
  bool keeps_ = false, logs_ = false, recovered_ = false;
  std::string own_, log_directory_;
  Gate gate_;
  Turn turn_;  // of snapshots, saves, loads and whole changes; taken before the gate
  std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<Log> log_;

  // Guarded by turn_. The own snapshots: a complete one and those that add to it.
  std::vector<std::string> chain_;
  uint64_t complete_bytes_ = 0, added_bytes_ = 0;
  bool marks_hold_ = false;  // what tables think changed is what changed since chain_.back()

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Save> save_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string last_failure_;

  std::atomic<uint64_t> snapshots_{0}, snapshot_rows_{0}, snapshot_bytes_{0};
  std::atomic<uint64_t> recovered_rows_{0}, replayed_{0};
  std::atomic<int64_t> recovery_ms_{0}, snapshot_ms_{0}, pause_us_{0};
  std::thread thread_;
};

void Store::take_turn(const char* what) {
  ARGOSY_CHECK(turn_.take(kTurnLimit), timeout)
      << "[parameter_server] " << what << " waited "
      << std::chrono::duration_cast<minutes>(kTurnLimit).count()
      << " minutes for a snapshot or save to end. Do this: look at the health of the disk.";
}

TableSet Store::tables(uint32_t only) const {
  TableSet set{host_.options().index, host_.options().servers, host_.sparse_tables(),
               host_.dense_tables(), only};
  if (only == kAllTables) return set;
  const auto other = [&](const auto* table) { return table->config().id != only; };
  std::erase_if(set.sparse, other);
  std::erase_if(set.dense, other);
  ARGOSY_CHECK(!set.sparse.empty() || !set.dense.empty(), invalid_argument)
      << "[parameter_server] there is no table " << only
      << ". Do this: name a table of the program; argosy show prints them.";
  return set;
}

Manifest Store::manifest(const std::string& save, const std::string& after, int mode) const {
  Manifest m;
  m.save = save;
  m.after = after;
  m.mode = mode;
  m.server = host_.options().index;
  m.servers = host_.options().servers;
  m.epoch = host_.epoch();
  m.tables = host_.options().tables;
  return m;
}

// A directory that servers of another number filled must not look empty to us.
void Store::check_directory() const {
  const std::string& directory = host_.options().directory;
  const std::string end = "-of-" + std::to_string(host_.options().servers);
  for (const std::string& name : list_directory(directory)) {
    ARGOSY_CHECK(!name.starts_with("server-") || name.ends_with(end), io)
        << "[parameter_server] '" << directory << "' holds '" << name << "', but now there are "
        << host_.options().servers
        << " servers. Do this: start as many as before, save the model, and load it into new "
           "servers with a new directory.";
  }
}

void Store::recover() {
  if (keeps_) {
    const auto start = Clock::now();
    check_directory();
    lock_ = std::make_unique<DirectoryLock>(own_);
    const TableSet set = tables();
    chain_ = read_index(own_);
    const bool has_log = !list_directory(log_directory_).empty();
    if (!chain_.empty() || has_log) {
      // A tier on disk has rows of later than the snapshot.
      for (SparseTable* table : set.sparse) table->clear();
    }
    const Loaded loaded = load_snapshot(own_, set);
    recovered_rows_ = loaded.rows;
    if (loaded.has_state) {
      host_.load_state(std::as_bytes(std::span(loaded.state)));
    }
    if (logs_ || has_log) {
      LogOptions options;
      options.directory = log_directory_;
      log_ = std::make_unique<Log>(options, loaded.cut.lowest());
      ARGOSY_CHECK(log_->last() >= loaded.cut.highest(), io)
          << "[log] '" << log_directory_ << "' ends at record " << log_->last()
          << ", but the snapshot has effects of record " << loaded.cut.highest()
          << ": files are missing. Do this: put them back, or move '" << own_
          << "' away and start from the last saved model.";
      LogReader reader(log_directory_, loaded.cut.lowest());
      LogRecord record;
      while (reader.next(&record)) {
        host_.replay(record.payload, record.number, loaded.cut);
        ++replayed_;
      }
    }
    remove_other_saves(own_, chain_);
    if (!logs_ && log_) {
      // From now on there is no log, and what it had must be in a snapshot.
      snapshot_now(How::waiting);
      log_.reset();
      remove_tree(log_directory_);
    }
    recovery_ms_ = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
  }
  recovered_ = true;
  thread_ = std::thread([this] { run(); });
}

template <class F>
uint64_t Store::dump(SnapshotWriter* writer, const std::vector<SparseTable*>& tables,
                     Selection selection, bool mark, bool consistent, bool positions,
                     F&& interrupted) {
  uint64_t sum = 0, entered = gate_.entered();
  auto free = Clock::now(), busy = free;  // when the bytes so far are paid for; until when to care
  std::vector<Copy> copies;
  for (SparseTable* table : tables) {
    for (uint32_t shard = 0; shard < kShards;) {
      interrupted();
      if (const uint64_t now = gate_.entered(); now != entered) {
        entered = now;
        busy = Clock::now() + milliseconds(500);
      }
      if (Clock::now() > busy) free = Clock::now();
      std::this_thread::sleep_until(free);
      uint64_t bytes = 0, position = 0;
      size_t n = 0;
      if (consistent) {
        gate_.enter_alone();
        position = this->position();
      }
      try {
        for (; shard < kShards && bytes < kPieceBytes; ++shard, ++n) {
          if (n == copies.size()) copies.emplace_back();
          Copy& copy = copies[n];
          copy.shard = shard;
          copy.rows.clear();
          copy.deleted.clear();
          table->copy_shard(shard, selection, mark, &copy.rows, &copy.deleted);
          bytes += copy.rows.bytes.size() + 8 * (copy.rows.keys.size() + copy.deleted.size());
        }
      } catch (...) {
        if (consistent) gate_.leave_alone();
        throw;
      }
      if (consistent) gate_.leave_alone();
      for (size_t i = 0; i < n; ++i) {
        const Copy& copy = copies[i];
        if (!positions && copy.rows.keys.empty() && copy.deleted.empty()) continue;
        writer->write(*table, copy.shard, position, copy.rows, copy.deleted);
      }
      sum += bytes;
      free = std::max(free, Clock::now() - milliseconds(100)) +
             std::chrono::duration_cast<Clock::duration>(
                 std::chrono::duration<double>(static_cast<double>(bytes) / kPace));
    }
  }
  return sum;
}

template <class F>
void Store::dump_hottest(SnapshotWriter* writer, const std::vector<SparseTable*>& tables,
                         float share, F&& interrupted) {
  // A count of rows for each range of shows: floats of no sign are ordered as their bits are.
  const auto range = [](float shows) { return std::bit_cast<uint32_t>(shows) >> 15; };
  Rows rows, kept;
  for (SparseTable* table : tables) {
    const auto each = [&](auto&& f) {
      for (uint32_t shard = 0; shard < kShards; ++shard) {
        interrupted();
        rows.clear();
        table->copy_shard(shard, Selection::all, false, &rows, nullptr);
        for (size_t i = 0; i < rows.keys.size(); ++i) {
          const std::span row(rows.bytes.data() + rows.offsets[i],
                              rows.offsets[i + 1] - rows.offsets[i]);
          if (const float shows = table->shows(row); shows >= 0) f(rows.keys[i], row, shows + 0.0f);
        }
        if (kept.keys.empty()) continue;
        writer->write(*table, shard, 0, kept, {});
        kept.clear();
      }
    };
    std::vector<uint64_t> counts(size_t{1} << 16);
    uint64_t all = 0;
    each([&](Key, auto, float shows) { ++counts[range(shows)], ++all; });
    const double part = table->counts_shows() ? static_cast<double>(share) : 1;
    auto room = static_cast<uint64_t>(std::ceil(part * static_cast<double>(all)));
    uint32_t lowest = static_cast<uint32_t>(counts.size());
    while (lowest > 0 && counts[lowest - 1] <= room) room -= counts[--lowest];
    // Of the range below, as many as there is room for.
    each([&](Key key, auto row, float shows) {
      const uint32_t at = range(shows);
      if (at < lowest && (at + 1 < lowest || room == 0)) return;
      if (at < lowest) --room;
      kept.keys.push_back(key);
      kept.bytes.insert(kept.bytes.end(), row.begin(), row.end());
      kept.offsets.push_back(static_cast<uint32_t>(kept.bytes.size()));
    });
  }
}

void Store::snapshot() {
  if (!keeps_) return;
  take_turn("a snapshot");
  try {
    snapshot_now(How::waiting);
  } catch (...) {
    turn_.give();
    throw;
  }
  turn_.give();
}

// Holding the turn; with How::alone the gate too. One in the background gives way to who waits for
// a turn.
void Store::snapshot_now(How how) {
  const bool alone = how == How::alone;
  const auto start = Clock::now();
  const bool add = marks_hold_ && !chain_.empty() && chain_.size() <= kMaxAdded &&
                   2 * added_bytes_ < complete_bytes_;
  marks_hold_ = false;
  const std::string name = name_of_save();
  SnapshotWriter writer(own_, manifest(name, add ? chain_.back() : "", 0));
  const auto add_state = [&] {
    if (!alone) gate_.enter_alone();
    std::string state;
    const uint64_t at = position();
    try {
      state = host_.save_state();
    } catch (...) {
      if (!alone) gate_.leave_alone();
      throw;
    }
    if (!alone) gate_.leave_alone();
    writer.add_state(state, at);
    return at;
  };
  // With a log, of before the copies: it brings what came later. Without one, of after them: what
  // some shards have already must not be taken for new when it is sent again.
  const uint64_t first = log_ ? add_state() : 0;
  const auto interrupted = [&] {
    if (how != How::in_background) return;
    std::lock_guard guard(mutex_);
    ARGOSY_CHECK(!stopping_ && !turn_.wanted(), runtime)
        << "[snapshot] Gave way to a save, load or shrink, or to the end of the server.";
  };
  dump(&writer, host_.sparse_tables(), add ? Selection::changed : Selection::all, true,
       log_ && !alone, true, interrupted);
  for (DenseTable* table : host_.dense_tables()) {
    const bool hold = log_ && !alone;
    if (hold) gate_.enter_alone();
    const uint64_t position = this->position();
    std::vector<std::byte> bytes;
    try {
      bytes = table->copy();
    } catch (...) {
      if (hold) gate_.leave_alone();
      throw;
    }
    if (hold) gate_.leave_alone();
    writer.add_dense(*table, bytes, position);
  }
  if (!log_) add_state();
  // What tables have must not be ahead of the log.
  if (log_) log_->wait(log_->last(), seconds(60));
  writer.finish();
  std::vector<std::string> chain = add ? chain_ : std::vector<std::string>();
  chain.push_back(name);
  write_index(own_, chain);
  const auto in_place = Clock::now();
  remove_other_saves(own_, chain);
  chain_ = std::move(chain);
  (add ? added_bytes_ : complete_bytes_) = writer.bytes() + (add ? added_bytes_ : 0);
  if (!add) added_bytes_ = 0;
  marks_hold_ = true;
  if (log_) log_->forget(first);
  ++snapshots_;
  snapshot_rows_ = writer.rows();
  snapshot_bytes_ = writer.bytes();
  snapshot_ms_ = std::chrono::duration_cast<milliseconds>(in_place - start).count();
}

uint64_t Store::save(const std::string& directory, int mode, const std::string& marker,
                     const Extent& extent) {
  const std::string name = marker.empty() ? name_of_save() : marker;
  prepare_save(directory, mode, name, extent);
  pause(name, seconds(60));
  const uint64_t rows = finish_save(name);
  publish_save(name);
  return rows;
}

// Takes the turn.
std::shared_ptr<Store::Save> Store::begin_save(const std::string& marker) {
  ARGOSY_CHECK(is_plain_name(marker), invalid_argument)
      << "[save] marker: expected a name for a file, got '" << marker << "'.";
  take_turn("a save");
  auto save = std::make_shared<Save>();
  save->marker = marker;
  std::lock_guard guard(mutex_);
  return save_ = save;
}

void Store::reserve_save(const std::string& marker) {
  end_step(begin_save(marker), Step::reserved, kTurnLimit);
}

void Store::prepare_save(const std::string& directory, int mode, const std::string& marker,
                         const Extent& extent) {
  ARGOSY_CHECK(mode >= 0 && mode <= 4, invalid_argument)
      << "[save] mode: expected 0 (all), 1 (delta), 2 (base), 3 (all after a shrink) or 4 (the "
         "rows shown most), got "
      << mode << '.';
  ARGOSY_CHECK(extent.share >= 0 && extent.share <= 1, invalid_argument)
      << "[save] share of rows: expected a number from 0 to 1, got " << extent.share << '.';
  const std::vector<SparseTable*> sparse = tables(extent.table).sparse;
  bool reserved;
  {
    std::lock_guard guard(mutex_);
    reserved = save_ && save_->marker == marker;
  }
  const std::shared_ptr<Save> save =
      reserved ? step_of_save(marker, Step::reserved, "begin") : begin_save(marker);
  {
    std::lock_guard guard(mutex_);
    save->directory = directory;
    save->mode = mode;
    save->table = extent.table;
  }
  const auto interrupted = [&] {
    std::lock_guard guard(mutex_);
    ARGOSY_CHECK(!stopping_ && !save->cancelled, runtime)
        << "[save] '" << directory << "': cancelled.";
  };
  try {
    Manifest saved = manifest(marker, "", mode);
    if (extent.table != kAllTables) {
      std::erase_if(saved.tables, [&](const TableConfig& t) { return t.id != extent.table; });
    }
    save->writer = std::make_unique<SnapshotWriter>(directory, std::move(saved));
    if (mode == 4) {
      dump_hottest(save->writer.get(), sparse, extent.share, interrupted);
    } else if (mode == 1 || mode == 2) {
      dump(save->writer.get(), sparse, mode == 1 ? Selection::delta : Selection::base, true, false,
           false, interrupted);
    } else {
      marks_hold_ = false;
      dump(save->writer.get(), sparse, Selection::all, true, false, false, interrupted);
      for (int pass = 1; pass < kMaxPasses; ++pass) {
        save->writer->next_pass();
        if (dump(save->writer.get(), sparse, Selection::changed, true, false, false, interrupted) <=
            kFewBytes) {
          break;
        }
      }
      save->writer->next_pass();
    }
    save->writer->sync();
  } catch (...) {
    drop(save);
    throw;
  }
  end_step(save, Step::prepared, kTurnLimit);
}

std::shared_ptr<Store::Save> Store::step_of_save(const std::string& marker, Step from,
                                                 const char* what) {
  std::lock_guard guard(mutex_);
  ARGOSY_CHECK(save_ && save_->marker == marker && save_->step == from, runtime)
      << "[save] cannot " << what << " '" << marker
      << "': it was cancelled, took too long, or its steps came out of order. Do this: save again.";
  save_->step = Step::busy;
  save_->deadline = Clock::time_point::max();
  return save_;
}

void Store::end_step(const std::shared_ptr<Save>& save, Step step, milliseconds limit) {
  bool cancelled;
  {
    std::lock_guard guard(mutex_);
    save->step = step;
    save->deadline = Clock::now() + limit;
    cancelled = save->cancelled;
  }
  wake_.notify_one();
  if (!cancelled) return;
  cancel_save(save->marker);
  ARGOSY_THROW(runtime) << "[save] '" << save->directory << "': cancelled.";
}

// Holding its step (busy), outside of the gate.
void Store::drop(const std::shared_ptr<Save>& save) {
  save->writer.reset();
  {
    std::lock_guard guard(mutex_);
    save_.reset();
  }
  turn_.give();
}

void Store::pause(const std::string& marker, milliseconds limit) {
  const std::shared_ptr<Save> save = step_of_save(marker, Step::prepared, "pause for");
  save->paused = Clock::now();
  gate_.enter_alone();
  end_step(save, Step::paused, limit);
}

uint64_t Store::finish_save(const std::string& marker) {
  const std::shared_ptr<Save> save = step_of_save(marker, Step::paused, "finish");
  std::vector<Copy> copies;
  std::vector<std::vector<std::byte>> dense;
  const TableSet set = tables(save->table);
  const uint64_t position = this->position();
  std::exception_ptr error;
  try {
    for (DenseTable* table : set.dense) dense.push_back(table->copy());
    if (save->mode == 0 || save->mode == 3) {
      for (SparseTable* table : set.sparse) {
        for (uint32_t shard = 0; shard < kShards; ++shard) {
          Copy copy{table, shard, {}, {}};
          table->copy_shard(shard, Selection::changed, true, &copy.rows, &copy.deleted);
          if (!copy.rows.keys.empty() || !copy.deleted.empty()) copies.push_back(std::move(copy));
        }
      }
    }
  } catch (...) {
    error = std::current_exception();
  }
  gate_.leave_alone();
  pause_us_ =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - save->paused).count();
  uint64_t rows = 0;
  try {
    if (error) std::rethrow_exception(error);
    for (const Copy& copy : copies) {
      save->writer->write(*copy.table, copy.shard, position, copy.rows, copy.deleted);
    }
    for (size_t i = 0; i < set.dense.size(); ++i) {
      save->writer->add_dense(*set.dense[i], dense[i], position);
    }
    save->writer->finish();
    rows = save->writer->rows();
  } catch (...) {
    drop(save);
    throw;
  }
  end_step(save, Step::finished, kTurnLimit);
  return rows;
}

void Store::publish_save(const std::string& marker) {
  const std::shared_ptr<Save> save = step_of_save(marker, Step::finished, "publish");
  try {
    write_index(save->directory, {marker});
    remove_other_saves(save->directory, {marker});
  } catch (...) {
    drop(save);
    throw;
  }
  drop(save);
}

void Store::cancel_save(const std::string& marker) {
  std::shared_ptr<Save> save;
  Step step;
  {
    std::lock_guard guard(mutex_);
    if (!save_ || save_->marker != marker) return;
    save_->cancelled = true;
    step = save_->step;
    // Who is at it sees it at the end of the step.
    if (step == Step::busy) return;
    save = save_;
    save->step = Step::busy;
  }
  if (step == Step::paused) gate_.leave_alone();
  drop(save);
  if (step == Step::finished) remove_tree(join_path(save->directory, marker));
}

uint64_t Store::load(const std::string& directory, int, uint32_t table) {
  const TableSet set = tables(table);
  Pass pass(*this, true);
  const Loaded loaded = load_snapshot(directory, set);
  ARGOSY_CHECK(!loaded.saves.empty(), io)
      << "[load] '" << directory << "' has no snapshot.json, so no save ended there. Do this: name "
      << "the directory that was given to save.";
  marks_hold_ = false;
  if (keeps_) snapshot_now(How::alone);
  return loaded.rows;
}

void Store::run() {
  auto last = Clock::now();
  auto not_before = last;
  const seconds every = host_.options().snapshot_every;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, milliseconds(save_ ? 50 : 500));
    const auto now = Clock::now();
    if (save_ && save_->deadline < now) {
      const std::string marker = save_->marker;
      lock.unlock();
      ARGOSY_LOG(warning) << "[save] '" << marker
                          << "' was not continued in time and is cancelled.";
      cancel_save(marker);
      lock.lock();
    }
    if (!keeps_ || stopping_ || now < not_before) continue;
    const bool due = every.count() > 0
                         ? now - last >= every
                         : log_ && log_->bytes() > std::max(kLogBytes, snapshot_bytes_ / 2);
    if (!due || save_) continue;
    lock.unlock();
    std::string failure;
    try {
      if (turn_.take(milliseconds(0))) {
        try {
          snapshot_now(How::in_background);
        } catch (...) {
          turn_.give();
          throw;
        }
        turn_.give();
        last = Clock::now();
      }
    } catch (const std::exception& e) {
      failure = e.what();
      not_before = Clock::now() + kRetryAfter;
    }
    lock.lock();
    if (!failure.empty() && !stopping_) {
      ARGOSY_LOG(warning) << failure << " (a snapshot failed; the one before holds)";
    }
    last_failure_ = failure;
  }
}

std::string Store::stats() {
  nlohmann::json json = {{"mode", host_.options().durability},
                         {"log_bytes", log_ ? log_->bytes() : 0},
                         {"log_position", position()},
                         {"durable_position", log_ ? log_->durable() : 0},
                         {"snapshots", snapshots_.load()},
                         {"snapshot_rows", snapshot_rows_.load()},
                         {"snapshot_bytes", snapshot_bytes_.load()},
                         {"snapshot_ms", snapshot_ms_.load()},
                         {"save_pause_us", pause_us_.load()},
                         {"recovered_rows", recovered_rows_.load()},
                         {"replayed_records", replayed_.load()},
                         {"recovery_ms", recovery_ms_.load()}};
  std::lock_guard guard(mutex_);
  json["last_failure"] = last_failure_;
  return json.dump();
}

void Store::stop() {
  if (recovered_ && keeps_ && !logs_ && !stopping_) {
    try {
      snapshot();
    } catch (const Error& e) {
      ARGOSY_LOG(error) << e.what() << " What was pushed since the last snapshot is lost.";
    }
  }
  {
    std::lock_guard guard(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::string marker;
  {
    std::lock_guard guard(mutex_);
    if (save_) marker = save_->marker;
  }
  if (!marker.empty()) cancel_save(marker);
  if (log_ && log_->last()) {
    try {
      log_->wait(log_->last(), seconds(60));
    } catch (const Error& e) {
      ARGOSY_LOG(error) << e.what();
    }
  }
  // Another server of this process may have the directory now.
  log_.reset();
  lock_.reset();
}

}  // namespace

std::unique_ptr<Durability> make_durability(Host& host) {
  return std::make_unique<Store>(host);
}

}  // namespace argosy::ps
