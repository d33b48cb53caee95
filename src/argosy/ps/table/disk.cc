#include "argosy/ps/table/disk.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/table/readers.h"

namespace argosy::ps {
namespace {

constexpr size_t kKeyBytes = 10;              // shard and key, both with the high byte first
constexpr size_t kClockBytes = 4;             // day and decays, before the row
const char kMetaLayout[] = "\xff\xfflayout";  // after all shards
const char kMetaClocks[] =
    "\xff\xff"
    "clocks";

void encode_key(char* to, uint32_t shard, Key key) {
  to[0] = static_cast<char>(shard >> 8);
  to[1] = static_cast<char>(shard);
  const uint64_t big = __builtin_bswap64(key);
  std::memcpy(to + 2, &big, 8);
}

rocksdb::Slice shard_begin(char* buffer, uint32_t shard) {
  buffer[0] = static_cast<char>(shard >> 8);
  buffer[1] = static_cast<char>(shard);
  return {buffer, 2};
}

ShardClock clock_of(const rocksdb::Slice& value) {
  ShardClock clock;
  std::memcpy(&clock.day, value.data(), 2);
  std::memcpy(&clock.decays, value.data() + 2, 2);
  return clock;
}

constexpr size_t kWriteBuffer = size_t{64} << 20;
constexpr size_t kReadThreads = 15;  // and the caller: a disk answers many requests at once
constexpr size_t kPart = 64;         // keys of a part of a read

// RocksDB's own log file is written through a class that ends the process (where RocksDB is built
// with assertions, as Debian's is) when it writes again after an error: a full disk must not do
// that.
class Words final : public rocksdb::Logger {
 public:
  Words() : Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
  using Logger::Logv;
  void Logv(const char* format, va_list list) override {
    char text[512];
    std::vsnprintf(text, sizeof text, format, list);
    ARGOSY_LOG(info) << "[table] RocksDB: " << text;
  }
};

// Hears of errors of RocksDB's own threads. What it would do about them by itself, a while later,
// uses files that failed before; the database is opened anew instead.
class Failures final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    set(*status);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* automatic) override {
    *automatic = false;
  }
  void set(const rocksdb::Status& status) {
    MutexLock guard(mutex_);
    reason_ = status.ToString();
    any_.store(true, std::memory_order_release);
  }
  void clear() { any_.store(false, std::memory_order_release); }
  bool any() const { return any_.load(std::memory_order_acquire); }
  std::string reason() {
    MutexLock guard(mutex_);
    return reason_;
  }

 private:
  Mutex mutex_;
  std::string reason_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};
};

Mutex files_mutex;
std::shared_ptr<rocksdb::FileSystem> files ARGOSY_GUARDED_BY(files_mutex);
std::optional<DiskTimes> times ARGOSY_GUARDED_BY(files_mutex);

DiskTimes chosen_times() {
  MutexLock guard(files_mutex);
  if (times) return *times;
  static const int64_t seconds = flags::find("ARGOSY_PS_DISK_SECONDS").integer();
  return {.limit = std::chrono::seconds(std::max<int64_t>(seconds, 1))};
}

std::unique_ptr<rocksdb::Env> chosen_env() {
  MutexLock guard(files_mutex);
  return files ? rocksdb::NewCompositeEnv(files) : nullptr;
}

rocksdb::Options options(const std::shared_ptr<Failures>& failures, rocksdb::Env* env) {
  rocksdb::Options o;
  if (env) o.env = env;
  o.create_if_missing = true;
  o.info_log = std::make_shared<Words>();
  o.listeners.push_back(failures);
  o.max_bgerror_resume_count = 0;
  o.compression = rocksdb::kNoCompression;  // floats do not compress
  o.write_buffer_size = kWriteBuffer;
  o.max_background_jobs = 2;
  // Most keys that are asked for are not among the rows written last, and rows come in the order of
  // their keys, a shard at a time.
  o.memtable_prefix_bloom_size_ratio = 0.05;
  o.memtable_whole_key_filtering = true;
  o.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
  o.allow_concurrent_memtable_write = false;
  o.level_compaction_dynamic_level_bytes = true;
  // Blocks are read from the page cache, which is as large as the memory; rows that are used stay
  // in memory, so a cache of RocksDB's own would not have them either. (Mapped files would save a
  // copy, but are compacted page by page.)
  o.compaction_readahead_size = size_t{2} << 20;
  o.max_open_files = -1;
  o.avoid_flush_during_shutdown = false;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.data_block_hash_table_util_ratio = 0.75;
  table.format_version = 5;
  table.no_block_cache = false;
  table.block_cache = rocksdb::NewLRUCache(size_t{32} << 20);
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return o;
}

}  // namespace

void use_file_system(std::shared_ptr<rocksdb::FileSystem> chosen) {
  MutexLock guard(files_mutex);
  files = std::move(chosen);
}

void set_disk_times(const DiskTimes& chosen) {
  MutexLock guard(files_mutex);
  times = chosen;
}

// Many use the database, or one thread of its own opens it: a disk may hang, and who waits for it
// then has a limit.
struct Disk::State : std::enable_shared_from_this<Disk::State> {
  using Time = std::chrono::steady_clock::time_point;

  ~State() {
    if (opener.joinable()) opener.detach();  // it was left alone, and has the last reference
  }

  std::string directory;
  const DiskTimes times = chosen_times();
  const std::unique_ptr<rocksdb::Env> env = chosen_env();  // null: the system's
  std::shared_ptr<Failures> failures = std::make_shared<Failures>();
  mutable Readers readers{kReadThreads};

  // Null if nothing of it can be opened. Read by who has a Use; replaced by `opener`, where it is
  // `closed` and has no users (or nobody has the State yet).
  std::unique_ptr<rocksdb::DB> db;
  std::atomic<bool> gone{false};  // db is null

  Mutex mutex;  // not held while the disk is asked for something
  CondVar changed;
  int users ARGOSY_GUARDED_BY(mutex) = 0;
  bool recovering ARGOSY_GUARDED_BY(mutex) = false;  // `opener` is at work
  bool closed ARGOSY_GUARDED_BY(mutex) = false;      // and lets nobody in
  Time began ARGOSY_GUARDED_BY(mutex);               // of its work
  Time next_try ARGOSY_GUARDED_BY(mutex);
  std::thread opener ARGOSY_GUARDED_BY(mutex);

  // One use of the database.
  class Use {
   public:
    explicit Use(State& state) : state_(&state) { state.enter(); }
    Use(Use&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (state_) state_->leave();
    }

   private:
    State* state_;
  };

  void enter() {
    WaitLock lock(mutex);
    wait(lock, [&]() ARGOSY_REQUIRES(mutex) { return !closed; });
    ++users;
  }
  void leave() {
    MutexLock lock(mutex);
    if (--users == 0 && closed) changed.notify_all();
  }

  // Until `done` holds; not for longer than opening the database may take.
  template <class Done>
  void wait(WaitLock& lock, Done&& done) ARGOSY_REQUIRES(mutex) {
    if (done()) return;
    if (changed.wait_until(lock, began + times.limit, done)) return;
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    ARGOSY_THROW(timeout) << "[table] the database '" << directory << "' is being opened for "
                          << static_cast<double>(since.count()) / 1e3 << " s: expected at most "
                          << static_cast<double>(times.limit.count()) / 1e3
                          << " s. Do this: look at its disk, which may hang; or allow it more by "
                             "ARGOSY_PS_DISK_SECONDS.";
  }

  rocksdb::Status open() {
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options(failures, env.get()), directory, &opened);
    if (!status.ok()) failures->set(status);
    db.reset(opened);
    gone.store(!opened, std::memory_order_release);
    return status;
  }

  void write(rocksdb::WriteBatch* batch) {
    recover();
    {
      const Use use(*this);
      const auto status = live().Write({}, batch);
      if (status.ok()) return;
      failures->set(status);
    }
    refuse();
  }

  // To read. A database that could not be opened at all may be there again.
  Use reading() {
    if (gone.load(std::memory_order_acquire)) {
      try {
        recover();
      } catch (const Error&) {  // live() says what is wrong
      }
    }
    return Use(*this);
  }

  // REQUIRES: a use.
  rocksdb::DB& live() const {
    ARGOSY_CHECK(db, io) << "[table] the database '" << directory
                         << "' cannot be opened: " << failures->reason()
                         << ". Do this: make room on its disk.";
    return *db;
  }

  [[noreturn]] void refuse() {
    ARGOSY_THROW(io) << "[table] the database '" << directory
                     << "' takes no rows: " << failures->reason()
                     << ". What it has can be read. Do this: make room on its disk; it goes on by "
                        "itself then.";
  }

  // Room for what opening it writes, and for some more. Reserves it for a moment, so that quotas
  // and limits of file sizes count too.
  bool has_room() const {
    size_t bytes = size_t{16} << 20;
    std::error_code error;
    std::filesystem::directory_iterator file(directory, error);
    for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
      std::error_code ignored;
      const auto size = file->path().extension() == ".log" ? file->file_size(ignored) : 0;
      if (!ignored) bytes += size;
    }
    const std::string path = directory + "/room";
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    const bool room = ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 || errno == EOPNOTSUPP;
    ::close(fd);
    ::unlink(path.c_str());
    return room;
  }

  // Starts the opener. REQUIRES: that it is not at work.
  void start(void (State::*work)()) ARGOSY_REQUIRES(mutex) {
    if (opener.joinable()) opener.join();  // it has ended
    began = std::chrono::steady_clock::now();
    try {
      opener = std::thread([self = shared_from_this(), work] {
        (*self.*work)();
        MutexLock lock(self->mutex);
        self->recovering = self->closed = false;
        self->changed.notify_all();
      });
    } catch (const std::system_error& e) {
      ARGOSY_THROW(runtime) << "[table] no thread to open the database '" << directory
                            << "': " << e.what() << '.';
    }
    recovering = true;
  }

  void first_open() { (void)open(); }
  void begin() {
    {
      WaitLock lock(mutex);
      start(&State::first_open);
      wait(lock, [&]() ARGOSY_REQUIRES(mutex) { return !recovering; });
    }
    end();
  }

  void reopen() {
    if (!has_room()) return;
    {
      WaitLock lock(mutex);
      closed = true;
      const Time until = began + times.limit / 2;
      if (!changed.wait_until(lock, until, [&]() ARGOSY_REQUIRES(mutex) { return users == 0; }))
        return;
    }
    db.reset();
    failures->clear();
    if (open().ok()) {
      if (failures->any()) return;
      ARGOSY_LOG(warning) << "[table] the database '" << directory << "' takes rows again.";
      return;
    }
    rocksdb::DB* opened = nullptr;
    (void)rocksdb::DB::OpenForReadOnly(options(failures, env.get()), directory, &opened);
    db.reset(opened);
    gone.store(!opened, std::memory_order_release);
  }

  // After a failed write: opens the database anew if there is room, once a second at most. Throws
  // if it takes no rows yet.
  void recover() {
    if (!failures->any()) return;
    WaitLock lock(mutex);
    if (!recovering) {
      if (!failures->any()) return;
      const auto now = std::chrono::steady_clock::now();
      if (now < next_try) refuse();
      next_try = now + times.try_again;
      start(&State::reopen);
    }
    wait(lock, [&]() ARGOSY_REQUIRES(mutex) { return !recovering; });
    if (failures->any()) refuse();
  }

  // Waits for the opener, which is left alone if it hangs.
  void end() {
    WaitLock lock(mutex);
    const Time until = began + times.limit;
    if (changed.wait_until(lock, until, [&]() ARGOSY_REQUIRES(mutex) { return !recovering; })) {
      if (opener.joinable()) opener.join();  // the mutex was the last that it held
      return;
    }
    ARGOSY_LOG(error) << "[table] the database '" << directory
                      << "' is still being opened; its disk may hang.";
  }

  void check(const rocksdb::Status& status, const char* what) const {
    ARGOSY_CHECK(status.ok(), io) << "[table] cannot " << what << " the database '" << directory
                                  << "': " << status.ToString()
                                  << ". Do this: look at its disk for room and health.";
  }
};

Disk::Disk(const std::string& directory, const std::string& layout)
    : state_(std::make_shared<State>()) {
  state_->directory = directory;
  state_->begin();
  ARGOSY_CHECK(state_->db, io) << "[table] cannot open the database '" << directory
                               << "': " << state_->failures->reason()
                               << ". Do this: look at its disk for room and health.";
  std::string stored;
  const auto status = state_->db->Get({}, kMetaLayout, &stored);
  if (status.IsNotFound()) {
    rocksdb::WriteBatch batch;
    state_->check(batch.Put(kMetaLayout, layout), "write");
    state_->write(&batch);
    return;
  }
  state_->check(status, "read");
  ARGOSY_CHECK(stored == layout, invalid_argument)
      << "[table] the database '" << directory << "' has rows of another layout: expected '"
      << layout << "', got '" << stored << "'. Do this: name another folder or remove this one.";
}

Disk::~Disk() {
  state_->end();
}

std::chrono::milliseconds Disk::limit() const {
  return state_->times.limit;
}

bool Disk::failing() const {
  return state_->failures->any();
}

void Disk::recover() {
  state_->recover();
}

namespace {

// Of kPart keys each, in the threads of Readers.
class Reads final : public Readers::Job {
 public:
  Reads(rocksdb::DB& db, std::span<const Item> items)
      : db_(db), items_(items), statuses_(items.size()), values_(items.size()) {}
  void run(size_t part) noexcept override {
    const size_t begin = part * kPart, count = std::min(kPart, items_.size() - begin);
    char bytes[kPart * kKeyBytes];
    rocksdb::Slice keys[kPart];
    for (size_t i = 0; i < count; ++i) {
      const Key key = items_[begin + i].key;
      encode_key(bytes + i * kKeyBytes, shard_of(key), key);
      keys[i] = {bytes + i * kKeyBytes, kKeyBytes};
    }
    db_.MultiGet({}, db_.DefaultColumnFamily(), count, keys, &values_[begin], &statuses_[begin],
                 false);
  }
  const rocksdb::Status& status(size_t i) const { return statuses_[i]; }
  const rocksdb::PinnableSlice& value(size_t i) const { return values_[i]; }

 private:
  rocksdb::DB& db_;
  std::span<const Item> items_;
  std::vector<rocksdb::Status> statuses_;
  std::vector<rocksdb::PinnableSlice> values_;
};

}  // namespace

void Disk::read(std::span<const Item> items, Found* out) const {
  const size_t n = items.size();
  out->found.assign(n, false);
  out->clocks.clear();
  out->rows.clear();
  const State::Use use = state_->reading();
  Reads reads(state_->live(), items);
  state_->readers.run((n + kPart - 1) / kPart, &reads);
  for (size_t i = 0; i < n; ++i) {
    if (reads.status(i).IsNotFound()) continue;
    state_->check(reads.status(i), "read");
    const auto& value = reads.value(i);
    ARGOSY_CHECK(value.size() >= kClockBytes, io)
        << "[table] the database '" << state_->directory << "' is damaged: a row has "
        << value.size() << " bytes. Do this: move it away and start from the last saved model.";
    out->found[i] = true;
    out->clocks.push_back(clock_of(value));
    out->rows.keys.push_back(items[i].key);
    const auto* row = reinterpret_cast<const std::byte*>(value.data());
    out->rows.bytes.insert(out->rows.bytes.end(), row + kClockBytes, row + value.size());
    out->rows.offsets.push_back(static_cast<uint32_t>(out->rows.bytes.size()));
  }
}

void Disk::write(uint32_t shard, ShardClock clock, const Rows& rows) {
  if (rows.keys.empty()) return;
  rocksdb::WriteBatch batch(rows.bytes.size() + rows.keys.size() * (kKeyBytes + 8));
  char key[kKeyBytes];
  char head[kClockBytes];
  std::memcpy(head, &clock.day, 2);
  std::memcpy(head + 2, &clock.decays, 2);
  std::vector<uint32_t> order(rows.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return rows.keys[a] < rows.keys[b]; });
  for (const uint32_t i : order) {
    encode_key(key, shard, rows.keys[i]);
    const auto* row = reinterpret_cast<const char*>(rows.bytes.data());
    const rocksdb::Slice name(key, kKeyBytes);
    const rocksdb::Slice parts[2] = {
        {head, kClockBytes}, {row + rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]}};
    state_->check(batch.Put(rocksdb::SliceParts(&name, 1), rocksdb::SliceParts(parts, 2)), "write");
  }
  state_->write(&batch);
}

void Disk::erase(uint32_t shard, std::span<const Key> keys) {
  if (keys.empty()) return;
  rocksdb::WriteBatch batch;
  char name[kKeyBytes];
  for (const Key key : keys) {
    encode_key(name, shard, key);
    state_->check(batch.Delete({name, kKeyBytes}), "write");
  }
  state_->write(&batch);
}

void Disk::clear() {
  char from[2], to[2];
  const rocksdb::Slice begin = shard_begin(from, 0), end = shard_begin(to, kShards);
  state_->recover();
  const State::Use use(*state_);
  rocksdb::DB& db = state_->live();
  state_->check(db.DeleteRange({}, db.DefaultColumnFamily(), begin, end), "clear");
  state_->check(db.CompactRange({}, &begin, &end), "clear");
}

struct Disk::Scan::State {
  char from[2], to[2];
  rocksdb::Slice end;
  const Disk::State* disk = nullptr;
  std::optional<Disk::State::Use> use;
  std::unique_ptr<rocksdb::Iterator> iterator;
  bool started = false;
};

Disk::Scan::Scan(const Disk& disk, uint32_t shard) : state_(std::make_unique<State>()) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  state_->end = shard_begin(state_->to, shard + 1);
  read.iterate_upper_bound = &state_->end;
  state_->disk = disk.state_.get();
  state_->use.emplace(disk.state_->reading());
  state_->iterator.reset(disk.state_->live().NewIterator(read));
  state_->iterator->Seek(shard_begin(state_->from, shard));
}

Disk::Scan::~Scan() = default;

bool Disk::Scan::next() {
  if (state_->started) state_->iterator->Next();
  state_->started = true;
  if (state_->iterator->Valid()) return true;
  state_->disk->check(state_->iterator->status(), "read");
  return false;
}

Key Disk::Scan::key() const {
  uint64_t big;
  std::memcpy(&big, state_->iterator->key().data() + 2, 8);
  return __builtin_bswap64(big);
}

ShardClock Disk::Scan::clock() const {
  return clock_of(state_->iterator->value());
}

std::span<const std::byte> Disk::Scan::row() const {
  const auto value = state_->iterator->value();
  return {reinterpret_cast<const std::byte*>(value.data()) + kClockBytes,
          value.size() - kClockBytes};
}

std::vector<ShardClock> Disk::clocks() const {
  std::vector<ShardClock> clocks(kShards);
  std::string stored;
  const State::Use use = state_->reading();
  const auto status = state_->live().Get({}, kMetaClocks, &stored);
  if (status.IsNotFound()) return clocks;
  state_->check(status, "read");
  ARGOSY_CHECK(stored.size() == kClockBytes * kShards, io)
      << "[table] the database '" << state_->directory << "' is damaged: its clocks have "
      << stored.size() << " bytes.";
  for (size_t s = 0; s < kShards; ++s) {
    clocks[s] = clock_of({stored.data() + kClockBytes * s, kClockBytes});
  }
  return clocks;
}

void Disk::store_clocks(const std::vector<ShardClock>& clocks) {
  std::string bytes;
  for (const ShardClock clock : clocks) {
    bytes.append(reinterpret_cast<const char*>(&clock.day), 2);
    bytes.append(reinterpret_cast<const char*>(&clock.decays), 2);
  }
  rocksdb::WriteBatch batch;
  state_->check(batch.Put(kMetaClocks, bytes), "write");
  state_->write(&batch);
}

uint64_t Disk::rows() const {
  uint64_t estimate = 0;
  const State::Use use = state_->reading();
  state_->live().GetIntProperty("rocksdb.estimate-num-keys", &estimate);
  return estimate > 2 ? estimate - 2 : 0;  // without the layout and the clocks
}

}  // namespace argosy::ps
