#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/table/shard.h"

namespace rocksdb {
class FileSystem;
}

namespace argosy::ps {

// For tests: where databases that are opened from now on have their files. Null: the system's.
ARGOSY_API void use_file_system(std::shared_ptr<rocksdb::FileSystem> files);
// For tests, in the same way.
struct DiskTimes {
  std::chrono::milliseconds try_again{1000};  // between looks for room
  std::chrono::milliseconds limit{60'000};    // of opening a database, and of waiting for locks
};
ARGOSY_API void set_disk_times(const DiskTimes& times);

// The rows of a table that do not lie in memory, in a RocksDB database: shard and key -> clock and
// the copied row. Thread safe; who changes a shard's rows holds the shard's lock, so that calls
// about one shard are in order. A write is in the system's page cache when it returns: it survives
// the death of the process, not of the machine. Errors are of kind io and name the folder and what
// to do.
class Disk {
 public:
  // Makes the database or opens it, which must then be of the same layout.
  Disk(const std::string& directory, const std::string& layout);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // values[i]: the bytes that write() was given for items[i], after its clock; found[i] is false if
  // there are none.
  struct Found {
    std::vector<bool> found;
    std::vector<ShardClock> clocks;
    Rows rows;  // of those found, in order
  };
  void read(std::span<const Item> items, Found* out) const;

  void write(uint32_t shard, ShardClock clock, const Rows& rows);
  void erase(uint32_t shard, std::span<const Key> keys);
  void clear();

  // How long a call waits for one that the disk holds up.
  std::chrono::milliseconds limit() const;

  // A write failed, so the disk is full, most likely. Reads go on; writes throw until there is room
  // again, which each of them looks for (once a second at most).
  bool failing() const;
  void recover();  // looks for it; throws if there is none

  // The rows of a shard, as they are at the first call of next(). While a thread has one it must
  // not call anything else here.
  class Scan {
   public:
    Scan(const Disk& disk, uint32_t shard);
    ~Scan();
    bool next();
    Key key() const;
    ShardClock clock() const;
    std::span<const std::byte> row() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  std::vector<ShardClock> clocks() const;  // as stored last; zeros in a new database
  void store_clocks(const std::vector<ShardClock>& clocks);
  uint64_t rows() const;  // estimated; with older copies of rows that are in memory again

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace argosy::ps
