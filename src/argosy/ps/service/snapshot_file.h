#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/file.h"
#include "argosy/ps/config.h"
#include "argosy/ps/service/durable_file.h"
#include "argosy/ps/table/table.h"

// The files of a snapshot (docs/file_formats.md). What is read is hostile: every length is compared
// with the file before memory is taken, and errors (kind io) name the file.
namespace argosy::ps {

// Rows of one table, in blocks. A block belongs to one shard.
class RowsWriter {
 public:
  explicit RowsWriter(const std::string& path);
  // `position`: of the log, whose effects up to it the rows have.
  void write(uint32_t shard, uint64_t position, const Rows& rows, std::span<const Key> deleted);
  void finish();  // syncs
  uint64_t rows() const { return rows_; }
  uint64_t deleted() const { return deleted_; }
  uint64_t bytes() const { return file_.size(); }

 private:
  BulkFile file_;
  uint64_t rows_ = 0, deleted_ = 0;
};

struct RowsBlock {
  uint32_t shard = 0;
  uint64_t position = 0;
  uint64_t rows = 0, deleted = 0;
  uint64_t offset = 0, bytes = 0;  // of the body
  uint32_t width = 0, sum = 0;
};

class RowsReader {
 public:
  // Reads all block headers. Throws unless the file has `bytes`.
  RowsReader(const std::string& path, uint64_t bytes);
  const std::vector<RowsBlock>& blocks() const { return blocks_; }
  // Any thread. Replaces what the vectors hold.
  void read(const RowsBlock& block, Rows* rows, std::vector<Key>* deleted) const;
  const std::string& path() const { return file_.path(); }

 private:
  InputFile file_;
  std::vector<RowsBlock> blocks_;
};

struct SparsePart {
  uint32_t table = 0;
  std::string layout;  // SparseTable::layout
  struct File {
    std::string name;
    uint64_t bytes = 0, rows = 0, deleted = 0;
  };
  std::vector<File> files;  // in the order in which they are applied
};

// A dense table's state begins with this many bytes that belong to all of it; arrays of one float32
// for each of its numbers follow (DenseTable::copy).
constexpr size_t kDenseHead = 8;

struct DensePart {
  uint32_t table = 0;
  uint64_t first = 0, last = 0;  // which of the table's numbers
  uint64_t position = 0;         // of the log
  std::string name;
  uint64_t bytes = 0;
  uint32_t sum = 0;
};

// Letters, digits, and . - _ within: no way out of a directory.
bool is_plain_name(const std::string& name);

// What one server wrote.
struct Manifest {
  std::string save;   // of which it is a part
  std::string after;  // the save that this one adds to; empty: it is complete
  int mode = 0;       // as Client::save
  uint32_t server = 0, servers = 1;
  uint64_t epoch = 0;
  std::vector<TableConfig> tables;
  std::vector<SparsePart> sparse;
  std::vector<DensePart> dense;
  std::string state;  // Host::save_state: a file's name, empty if there is none
  uint64_t state_position = 0, state_bytes = 0;
  uint32_t state_sum = 0;
};

void write_manifest(const Manifest& manifest, const std::string& path);
Manifest read_manifest(const std::string& path);

// A file of `bytes` with checksum `sum`.
std::string read_checked(const std::string& path, uint64_t bytes, uint32_t sum);

// Which saves of a directory hold: a complete one, then those that add to it. Empty if there is no
// index. The index is put in place as one file, so a save counts as a whole or not at all.
std::vector<std::string> read_index(const std::string& directory);
void write_index(const std::string& directory, const std::vector<std::string>& saves);

// Names of saves in a file of their own, as the index has them. None if there is no such file.
std::vector<std::string> read_names(const std::string& path);
void write_names(const std::string& path, const std::vector<std::string>& saves);

std::string part_name(uint32_t server, uint32_t servers);  // part-0-of-2
// The number of servers that wrote DIRECTORY/SAVE. Throws if there are parts of different numbers
// or none.
uint32_t count_servers(const std::string& directory, const std::string& save);

}  // namespace argosy::ps
