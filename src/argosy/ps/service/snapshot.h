#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/snapshot_file.h"

namespace argosy::ps {

// Writes one server's part of a save: DIRECTORY/SAVE/part-I-of-N, aside until finish().
class SnapshotWriter {
 public:
  // The manifest says save, after, mode, server, servers, epoch and tables.
  SnapshotWriter(const std::string& directory, Manifest manifest);
  ~SnapshotWriter();  // what is not finished goes
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  void add_state(const std::string& state, uint64_t position);
  // Later passes are put over earlier ones; within a pass each shard comes once.
  void next_pass() { ++pass_; }
  void write(const SparseTable& table, uint32_t shard, uint64_t position, const Rows& rows,
             std::span<const Key> deleted);
  void add_dense(const DenseTable& table, std::span<const std::byte> state, uint64_t position);
  // Syncs the files written until now.
  void sync();
  void finish();
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const std::string parent_;  // DIRECTORY/SAVE
  const std::string aside_;
  Manifest manifest_;
  std::map<uint32_t, std::unique_ptr<RowsWriter>> writers_;  // by table, of the pass
  int pass_ = 0, written_pass_ = 0;
  uint64_t rows_ = 0, bytes_ = 0;
};

struct TableSet {
  uint32_t server = 0, servers = 1;
  std::vector<SparseTable*> sparse;
  std::vector<DenseTable*> dense;
  uint32_t only = kAllTables;  // the rest of a snapshot is passed over
};

// Positions that blocks of a snapshot brought.
class LoadedCut : public Cut {
 public:
  uint64_t position(uint32_t table, uint32_t shard) const override;
  uint64_t state_position() const override { return state_position_; }
  uint64_t lowest() const;
  uint64_t highest() const;
  void set(uint32_t table, uint32_t shard, uint64_t position);
  void set_state(uint64_t position) { state_position_ = position; }

 private:
  std::map<uint32_t, std::vector<uint64_t>> positions_;
  uint64_t state_position_ = 0;
};

struct Loaded {
  std::vector<std::string> saves;  // of the index; empty: there is none
  uint64_t rows = 0;               // read, over all saves
  bool same_servers = false;       // written by as many servers as there are now
  std::string state;               // of this server, if they are the same
  bool has_state = false;
  LoadedCut cut;
};

// What a load into tables that are in use asks for: no links, every checksum before the first row,
// and a last word before that, with the bytes of all rows.
struct LoadChecks {
  std::function<void(uint64_t bytes)> before_first_row;
};

// Puts what belongs to this server into its tables, over what is there, whoever wrote it. Each row
// is checked before it is put; everything else before the first row is.
Loaded load_snapshot(const std::string& directory, const TableSet& tables,
                     const LoadChecks* checks = nullptr);

// Of a server's own directory: snapshots that are not in `kept` go, older ones and what those left
// who died.
void remove_other_saves(const std::string& directory, const std::vector<std::string>& kept);

}  // namespace argosy::ps
