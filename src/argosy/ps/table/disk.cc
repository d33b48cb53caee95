#include "argosy/ps/table/disk.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

constexpr size_t kKeyBytes = 10;   // shard and key, both with the high byte first
constexpr size_t kClockBytes = 4;  // day and decays, before the row
constexpr size_t kReadAtOnce = 512;
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

rocksdb::Options options() {
  rocksdb::Options o;
  o.create_if_missing = true;
  o.compression = rocksdb::kNoCompression;  // floats do not compress
  o.write_buffer_size = size_t{64} << 20;
  o.max_background_jobs = 2;
  // Most keys that are asked for are not among the rows written last, and rows come in the order of
  // their keys, a shard at a time.
  o.memtable_prefix_bloom_size_ratio = 0.05;
  o.memtable_whole_key_filtering = true;
  o.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
  o.allow_concurrent_memtable_write = false;
  o.level_compaction_dynamic_level_bytes = true;
  // Data is read from the page cache, without a copy into a cache of RocksDB's own.
  o.allow_mmap_reads = true;
  o.max_open_files = -1;
  o.keep_log_file_num = 3;
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

struct Disk::State {
  std::string directory;
  std::unique_ptr<rocksdb::DB> db;
  // A write failed. RocksDB's log is not to be touched again then: builds with assertions abort.
  std::atomic<bool> broken{false};

  void write(rocksdb::WriteBatch* batch) {
    ARGOSY_CHECK(!broken.load(std::memory_order_relaxed), io)
        << "[table] the database '" << directory << "' takes no more rows since a write failed. Do "
        << "this: make room on the disk and start the process again.";
    const auto status = db->Write({}, batch);
    if (!status.ok()) broken.store(true, std::memory_order_relaxed);
    check(status, "write");
  }

  void check(const rocksdb::Status& status, const char* what) const {
    ARGOSY_CHECK(status.ok(), io) << "[table] cannot " << what << " the database '" << directory
                                  << "': " << status.ToString() << '.';
  }
};

Disk::Disk(const std::string& directory, const std::string& layout)
    : state_(std::make_unique<State>()) {
  state_->directory = directory;
  rocksdb::DB* db = nullptr;
  state_->check(rocksdb::DB::Open(options(), directory, &db), "open");
  state_->db.reset(db);
  std::string stored;
  const auto status = db->Get({}, kMetaLayout, &stored);
  if (status.IsNotFound()) {
    state_->check(db->Put({}, kMetaLayout, layout), "write");
    return;
  }
  state_->check(status, "read");
  ARGOSY_CHECK(stored == layout, invalid_argument)
      << "[table] the database '" << directory << "' has rows of another layout: expected '"
      << layout << "', got '" << stored << "'. Do this: name another folder or remove this one.";
}

Disk::~Disk() {
  if (state_->broken.load()) (void)state_->db.release();  // closing it would write
}

void Disk::read(std::span<const Item> items, Found* out) const {
  const size_t n = items.size();
  out->found.assign(n, false);
  out->clocks.clear();
  out->rows.clear();
  const size_t at_once = std::min(n, kReadAtOnce);
  std::vector<char> bytes(at_once * kKeyBytes);
  std::vector<rocksdb::Slice> keys(at_once);
  std::vector<rocksdb::PinnableSlice> values(at_once);
  std::vector<rocksdb::Status> statuses(at_once);
  rocksdb::ReadOptions read;
  read.verify_checksums = false;  // the page cache is trusted as memory is
  for (size_t begin = 0; begin < n; begin += at_once) {
    const size_t count = std::min(at_once, n - begin);
    for (size_t i = 0; i < count; ++i) {
      const Key key = items[begin + i].key;
      encode_key(bytes.data() + i * kKeyBytes, shard_of(key), key);
      keys[i] = {bytes.data() + i * kKeyBytes, kKeyBytes};
      values[i].Reset();
    }
    state_->db->MultiGet(read, state_->db->DefaultColumnFamily(), count, keys.data(), values.data(),
                         statuses.data(), false);
    for (size_t i = 0; i < count; ++i) {
      if (statuses[i].IsNotFound()) continue;
      state_->check(statuses[i], "read");
      ARGOSY_CHECK(values[i].size() >= kClockBytes, io)
          << "[table] the database '" << state_->directory << "' is damaged: a row has "
          << values[i].size() << " bytes.";
      out->found[begin + i] = true;
      out->clocks.push_back(clock_of(values[i]));
      out->rows.keys.push_back(items[begin + i].key);
      const auto* row = reinterpret_cast<const std::byte*>(values[i].data());
      out->rows.bytes.insert(out->rows.bytes.end(), row + kClockBytes, row + values[i].size());
      out->rows.offsets.push_back(static_cast<uint32_t>(out->rows.bytes.size()));
    }
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
  state_->check(state_->db->DeleteRange({}, state_->db->DefaultColumnFamily(), begin, end),
                "clear");
  rocksdb::CompactRangeOptions all;
  state_->check(state_->db->CompactRange(all, &begin, &end), "clear");
}

struct Disk::Scan::State {
  char from[2], to[2];
  rocksdb::Slice end;
  std::unique_ptr<rocksdb::Iterator> iterator;
  const Disk::State* disk = nullptr;
  bool started = false;
};

Disk::Scan::Scan(const Disk& disk, uint32_t shard) : state_(std::make_unique<State>()) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  state_->end = shard_begin(state_->to, shard + 1);
  read.iterate_upper_bound = &state_->end;
  state_->disk = disk.state_.get();
  state_->iterator.reset(disk.state_->db->NewIterator(read));
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
  const auto status = state_->db->Get({}, kMetaClocks, &stored);
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
  state_->db->GetIntProperty("rocksdb.estimate-num-keys", &estimate);
  return estimate > 2 ? estimate - 2 : 0;  // without the layout and the clocks
}

}  // namespace argosy::ps
