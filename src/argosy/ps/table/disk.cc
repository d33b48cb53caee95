#include "argosy/ps/table/disk.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
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
#include <mutex>
#include <numeric>
#include <shared_mutex>

#include "argosy/base/error.h"
#include "argosy/base/log.h"
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
constexpr auto kTryAgain = std::chrono::seconds(1);

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
    std::lock_guard guard(mutex_);
    reason_ = status.ToString();
    any_.store(true, std::memory_order_release);
  }
  void clear() { any_.store(false, std::memory_order_release); }
  bool any() const { return any_.load(std::memory_order_acquire); }
  std::string reason() {
    std::lock_guard guard(mutex_);
    return reason_;
  }

 private:
  std::mutex mutex_;
  std::string reason_;
  std::atomic<bool> any_{false};
};

rocksdb::Options options(const std::shared_ptr<Failures>& failures) {
  rocksdb::Options o;
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

// Many may use the database, or one alone opens it anew; that one goes before those who come later.
// A thread holds it once.
class Use {
 public:
  void lock_shared() {
    std::lock_guard guard(entry_);
    users_.lock_shared();
  }
  void unlock_shared() { users_.unlock_shared(); }
  void lock() {
    entry_.lock();
    users_.lock();
  }
  void unlock() {
    users_.unlock();
    entry_.unlock();
  }

 private:
  std::mutex entry_;
  std::shared_mutex users_;
};

}  // namespace

struct Disk::State {
  std::string directory;
  std::shared_ptr<Failures> failures = std::make_shared<Failures>();
  mutable Use use;
  std::unique_ptr<rocksdb::DB> db;  // guarded by use; null if nothing of it can be opened
  std::mutex recovery;              // one at a time
  std::chrono::steady_clock::time_point next_try;  // guarded by recovery
  mutable Readers readers{kReadThreads};

  rocksdb::Status open() {
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options(failures), directory, &opened);
    db.reset(opened);
    return status;
  }

  void write(rocksdb::WriteBatch* batch) {
    recover();
    std::shared_lock lock(use);
    const auto status = live().Write({}, batch);
    if (status.ok()) return;
    failures->set(status);
    lock.unlock();
    refuse();
  }

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
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(directory, ignored)) {
      if (file.path().extension() == ".log") bytes += file.file_size(ignored);
    }
    const std::string path = directory + "/room";
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    const bool room = ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 || errno == EOPNOTSUPP;
    ::close(fd);
    ::unlink(path.c_str());
    return room;
  }

  // After a failed write: opens the database anew if there is room, once a second at most. Throws
  // if it takes no rows yet.
  void recover() {
    if (!failures->any()) return;
    std::lock_guard guard(recovery);
    if (!failures->any()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_try) refuse();
    next_try = now + kTryAgain;
    if (!has_room()) refuse();
    std::lock_guard alone(use);
    db.reset();
    failures->clear();
    const auto status = open();
    if (status.ok() && !failures->any()) {
      ARGOSY_LOG(warning) << "[table] the database '" << directory << "' takes rows again.";
      return;
    }
    if (!status.ok()) {
      failures->set(status);
      rocksdb::DB* opened = nullptr;
      (void)rocksdb::DB::OpenForReadOnly(options(failures), directory, &opened);
      db.reset(opened);
    }
    refuse();
  }

  void check(const rocksdb::Status& status, const char* what) const {
    ARGOSY_CHECK(status.ok(), io) << "[table] cannot " << what << " the database '" << directory
                                  << "': " << status.ToString()
                                  << ". Do this: look at its disk for room and health.";
  }
};

Disk::Disk(const std::string& directory, const std::string& layout)
    : state_(std::make_unique<State>()) {
  state_->directory = directory;
  state_->check(state_->open(), "open");
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

Disk::~Disk() = default;

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
    rocksdb::ReadOptions read;
    read.verify_checksums = false;  // the page cache is trusted as memory is
    db_.MultiGet(read, db_.DefaultColumnFamily(), count, keys, &values_[begin], &statuses_[begin],
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
  std::shared_lock lock(state_->use);
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
  std::shared_lock lock(state_->use);
  rocksdb::DB& db = state_->live();
  state_->check(db.DeleteRange({}, db.DefaultColumnFamily(), begin, end), "clear");
  state_->check(db.CompactRange({}, &begin, &end), "clear");
}

struct Disk::Scan::State {
  char from[2], to[2];
  rocksdb::Slice end;
  const Disk::State* disk = nullptr;
  std::shared_lock<Use> use;
  std::unique_ptr<rocksdb::Iterator> iterator;
  bool started = false;
};

Disk::Scan::Scan(const Disk& disk, uint32_t shard) : state_(std::make_unique<State>()) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  state_->end = shard_begin(state_->to, shard + 1);
  read.iterate_upper_bound = &state_->end;
  state_->disk = disk.state_.get();
  state_->use = std::shared_lock(disk.state_->use);
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
  std::shared_lock lock(state_->use);
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
  std::shared_lock lock(state_->use);
  state_->live().GetIntProperty("rocksdb.estimate-num-keys", &estimate);
  return estimate > 2 ? estimate - 2 : 0;  // without the layout and the clocks
}

}  // namespace argosy::ps
