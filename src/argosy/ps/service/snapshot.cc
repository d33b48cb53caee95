#include "argosy/ps/service/snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

template <class Table>
Table* find(const std::vector<Table*>& tables, uint32_t id) {
  const auto it = std::find_if(tables.begin(), tables.end(),
                               [&](const Table* t) { return t->config().id == id; });
  return it == tables.end() ? nullptr : *it;
}

struct OpenPart {
  std::string path;
  Manifest manifest;
  struct File {
    SparseTable* table;
    std::unique_ptr<RowsReader> reader;
  };
  std::vector<File> files;  // all of a pass's, then the next one's
};

OpenPart open_part(const std::string& directory, const std::string& save, uint32_t server,
                   uint32_t servers, const TableSet& tables) {
  OpenPart part;
  part.path = join_path(join_path(directory, save), part_name(server, servers));
  const std::string path = join_path(part.path, "manifest.json");
  ARGOSY_CHECK(path_exists(path), io)
      << "[snapshot] '" << path << "' is missing: " << servers << " servers wrote '" << save
      << "', and " << tables.servers << " servers that load it need "
      << (servers == tables.servers ? "each its own part" : "all parts")
      << ". Do this: copy the parts of all servers into one directory that every server sees.";
  part.manifest = read_manifest(path);
  const Manifest& m = part.manifest;
  ARGOSY_CHECK(m.save == save && m.server == server && m.servers == servers, io)
      << "[snapshot] '" << path << "' is part " << m.server << " of " << m.servers << " of save '"
      << m.save << "'. Do this: give it back its own name.";
  ARGOSY_CHECK(tables.only == kAllTables ||
                   std::any_of(m.tables.begin(), m.tables.end(),
                               [&](const TableConfig& t) { return t.id == tables.only; }),
               invalid_argument)
      << "[snapshot] '" << path << "' has no table " << tables.only
      << ". Do this: load a save of all tables, or of this one.";
  for (const SparsePart& s : m.sparse) {
    if (tables.only != kAllTables && s.table != tables.only) continue;
    SparseTable* table = find(tables.sparse, s.table);
    ARGOSY_CHECK(table, invalid_argument)
        << "[snapshot] '" << path << "' has rows of table " << s.table
        << ", which this server does not have. Do this: load it with the program that saved it.";
    ARGOSY_CHECK(table->layout() == s.layout, invalid_argument)
        << "[snapshot] '" << path << "': rows of table " << s.table << " (" << table->config().name
        << ") are laid out as " << s.layout << ", this server's as " << table->layout()
        << ". Do this: use the accessor and optimizer that it was saved with.";
    for (const SparsePart::File& f : s.files) {
      part.files.push_back(
          {table, std::make_unique<RowsReader>(join_path(part.path, f.name), f.bytes)});
    }
  }
  for (const DensePart& d : m.dense) {
    if (tables.only != kAllTables && d.table != tables.only) continue;
    const DenseTable* table = find(tables.dense, d.table);
    ARGOSY_CHECK(table, invalid_argument)
        << "[snapshot] '" << path << "' has dense table " << d.table
        << ", which this server does not have. Do this: load it with the program that saved it.";
    ARGOSY_CHECK(d.first <= d.last && d.last <= table->config().size, invalid_argument)
        << "[snapshot] '" << path << "': dense table " << d.table << " (" << table->config().name
        << ") has numbers " << d.first << " to " << d.last << ", this server's has "
        << table->config().size << ". Do this: load it with the program that saved it.";
    const uint64_t n = d.last - d.first;
    ARGOSY_CHECK(d.bytes >= kDenseHead &&
                     (n ? (d.bytes - kDenseHead) % (4 * n) == 0 : d.bytes == kDenseHead),
                 io)
        << "[snapshot] '" << path << "': dense table " << d.table << " has " << d.bytes
        << " bytes for " << n << " numbers. Do this: restore the file, or load an older save.";
  }
  return part;
}

// Calls work(i) for i in [0, n) from several threads; the first error is thrown.
template <class F>
void on_threads(size_t n, F&& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      for (size_t i; (i = next++) < n;) work(i);
    } catch (...) {
      next = n;
      std::lock_guard guard(mutex);
      if (!error) error = std::current_exception();
    }
  };
  const size_t count = std::min<size_t>({n, std::max(1u, std::thread::hardware_concurrency()), 8});
  std::vector<std::thread> threads;
  for (size_t t = 1; t < count; ++t) threads.emplace_back(run);
  run();
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

void keep_own(Rows* rows, std::vector<Key>* deleted, uint32_t server, uint32_t servers) {
  Rows own;
  for (size_t i = 0; i < rows->keys.size(); ++i) {
    if (server_of(rows->keys[i], servers) != server) continue;
    own.keys.push_back(rows->keys[i]);
    const std::byte* from = rows->bytes.data();
    own.bytes.insert(own.bytes.end(), from + rows->offsets[i], from + rows->offsets[i + 1]);
    own.offsets.push_back(static_cast<uint32_t>(own.bytes.size()));
  }
  *rows = std::move(own);
  std::erase_if(*deleted, [&](Key key) { return server_of(key, servers) != server; });
}

void load_rows(const OpenPart::File& file, const TableSet& tables, bool all) {
  const std::vector<RowsBlock>& blocks = file.reader->blocks();
  on_threads(blocks.size(), [&](size_t i) {
    if (!blocks[i].rows && !blocks[i].deleted) return;
    Rows rows;
    std::vector<Key> deleted;
    file.reader->read(blocks[i], &rows, &deleted);
    if (!all) keep_own(&rows, &deleted, tables.server, tables.servers);
    try {
      if (!deleted.empty()) file.table->erase(deleted);
      if (!rows.keys.empty()) file.table->put_rows(rows);
    } catch (const Error& e) {
      ARGOSY_THROW(io) << "[snapshot] '" << file.reader->path() << "': " << e.what();
    }
  });
}

void load_dense(DenseTable* table, const std::vector<OpenPart>& parts, const TableSet& tables) {
  const uint64_t size = table->config().size;
  const uint64_t first = part_of(size, tables.server, tables.servers).first;
  const uint64_t last = first + table->size();
  std::vector<std::byte> state;
  uint64_t have = 0;
  for (const OpenPart& part : parts) {
    for (const DensePart& d : part.manifest.dense) {
      if (d.table != table->config().id) continue;
      const uint64_t from = std::max(first, d.first), to = std::min(last, d.last);
      if (from >= to) continue;
      const std::string bytes = read_checked(join_path(part.path, d.name), d.bytes, d.sum);
      const uint64_t theirs = d.last - d.first, mine = last - first;
      const uint64_t arrays = (d.bytes - kDenseHead) / (4 * theirs);
      state.resize(kDenseHead + 4 * arrays * mine);
      std::memcpy(state.data(), bytes.data(), kDenseHead);
      for (uint64_t a = 0; a < arrays; ++a) {
        std::memcpy(state.data() + kDenseHead + 4 * (a * mine + from - first),
                    bytes.data() + kDenseHead + 4 * (a * theirs + from - d.first), 4 * (to - from));
      }
      have += to - from;
    }
  }
  if (first == last || !have) return;
  ARGOSY_CHECK(have == last - first, io)
      << "[snapshot] '" << parts.front().path << "' and its like have " << have << " of the "
      << last - first << " numbers of dense table '" << table->config().name
      << "'. Do this: restore the missing parts, or load an older save.";
  table->put(state);
}

}  // namespace

SnapshotWriter::SnapshotWriter(const std::string& directory, Manifest manifest)
    : parent_(join_path(directory, manifest.save)),
      aside_(join_path(parent_, ".aside-" + part_name(manifest.server, manifest.servers))),
      manifest_(std::move(manifest)) {
  make_directories(aside_);
}

SnapshotWriter::~SnapshotWriter() {
  writers_.clear();
  remove_tree(aside_);
  remove_empty_directory(parent_);
}

void SnapshotWriter::add_state(const std::string& state, uint64_t position) {
  manifest_.state = "state";
  manifest_.state_position = position;
  manifest_.state_bytes = state.size();
  manifest_.state_sum = crc32c(state.data(), state.size());
  AppendFile file(join_path(aside_, manifest_.state));
  file.write(state.data(), state.size());
  file.sync();
}

void SnapshotWriter::write(const SparseTable& table, uint32_t shard, uint64_t position,
                           const Rows& rows, std::span<const Key> deleted) {
  if (written_pass_ != pass_) sync();
  written_pass_ = pass_;
  const uint32_t id = table.config().id;
  std::unique_ptr<RowsWriter>& writer = writers_[id];
  if (!writer) {
    auto part = std::find_if(manifest_.sparse.begin(), manifest_.sparse.end(),
                             [&](const SparsePart& p) { return p.table == id; });
    if (part == manifest_.sparse.end()) {
      part = manifest_.sparse.insert(part, SparsePart{id, table.layout(), {}});
    }
    const std::string name =
        "table-" + std::to_string(id) + "." + std::to_string(part->files.size()) + ".rows";
    part->files.push_back({name});
    writer = std::make_unique<RowsWriter>(join_path(aside_, name));
  }
  writer->write(shard, position, rows, deleted);
}

void SnapshotWriter::add_dense(const DenseTable& table, std::span<const std::byte> state,
                               uint64_t position) {
  DensePart d;
  d.table = table.config().id;
  d.first = part_of(table.config().size, manifest_.server, manifest_.servers).first;
  d.last = d.first + table.size();
  d.position = position;
  d.name = "table-" + std::to_string(d.table) + ".dense";
  d.bytes = state.size();
  d.sum = crc32c(state.data(), state.size());
  AppendFile file(join_path(aside_, d.name));
  file.write(state.data(), state.size());
  file.sync();
  bytes_ += d.bytes;
  manifest_.dense.push_back(std::move(d));
}

void SnapshotWriter::sync() {
  for (auto& [id, writer] : writers_) {
    writer->finish();
    for (SparsePart& part : manifest_.sparse) {
      if (part.table != id) continue;
      SparsePart::File& file = part.files.back();
      file.bytes = writer->bytes();
      file.rows = writer->rows();
      file.deleted = writer->deleted();
      rows_ += file.rows;
      bytes_ += file.bytes;
    }
  }
  writers_.clear();
}

void SnapshotWriter::finish() {
  sync();
  // Every table is named, also without rows.
  write_manifest(manifest_, join_path(aside_, "manifest.json"));
  sync_directory(aside_);
  // Fails where that is there already.
  rename_file(aside_, join_path(parent_, part_name(manifest_.server, manifest_.servers)));
  sync_directory(parent_);
}

uint64_t LoadedCut::position(uint32_t table, uint32_t shard) const {
  const auto it = positions_.find(table);
  return it == positions_.end() ? 0 : it->second[shard];
}

uint64_t LoadedCut::lowest() const {
  return state_position_;
}

uint64_t LoadedCut::highest() const {
  uint64_t highest = state_position_;
  for (const auto& [id, p] : positions_) {
    highest = std::max(highest, *std::max_element(p.begin(), p.end()));
  }
  return highest;
}

void LoadedCut::set(uint32_t table, uint32_t shard, uint64_t position) {
  std::vector<uint64_t>& p = positions_[table];
  if (p.empty()) p.resize(kShards);
  p[shard] = position;
}

namespace {

// What a link could lead out of a directory with.
void refuse_links(const std::string& path) {
  ARGOSY_CHECK(!is_link(path), io)
      << "[load] '" << path << "' is a link. Do this: put the files themselves there.";
}

void refuse_links(const OpenPart& part) {
  refuse_links(part.path);
  refuse_links(join_path(part.path, "manifest.json"));
  for (const OpenPart::File& file : part.files) refuse_links(file.reader->path());
  for (const DensePart& d : part.manifest.dense) refuse_links(join_path(part.path, d.name));
  if (!part.manifest.state.empty()) refuse_links(join_path(part.path, part.manifest.state));
}

// Returns the bytes of all rows.
uint64_t check_contents(const std::vector<std::vector<OpenPart>>& saves) {
  uint64_t bytes = 0;
  for (const std::vector<OpenPart>& parts : saves)
    for (const OpenPart& part : parts) {
      for (const OpenPart::File& file : part.files) {
        const std::vector<RowsBlock>& blocks = file.reader->blocks();
        on_threads(blocks.size(), [&](size_t i) {
          Rows rows;
          std::vector<Key> deleted;
          file.reader->read(blocks[i], &rows, &deleted);
        });
        for (const RowsBlock& block : blocks) bytes += block.bytes;
      }
      for (const DensePart& d : part.manifest.dense) {
        read_checked(join_path(part.path, d.name), d.bytes, d.sum);
        bytes += d.bytes;
      }
    }
  return bytes;
}

}  // namespace

Loaded load_snapshot(const std::string& directory, const TableSet& tables,
                     const LoadChecks* checks) {
  Loaded loaded;
  loaded.saves = read_index(directory);
  std::vector<std::vector<OpenPart>> saves;
  if (checks) refuse_links(join_path(directory, "snapshot.json"));
  for (const std::string& save : loaded.saves) {
    if (checks) refuse_links(join_path(directory, save));
    const uint32_t servers = count_servers(directory, save);
    std::vector<OpenPart>& parts = saves.emplace_back();
    loaded.same_servers = servers == tables.servers;
    if (loaded.same_servers) {
      parts.push_back(open_part(directory, save, tables.server, servers, tables));
    } else {
      for (uint32_t i = 0; i < servers; ++i) {
        parts.push_back(open_part(directory, save, i, servers, tables));
      }
    }
    for (const OpenPart& part : parts) {
      if (checks) refuse_links(part);
      const std::string after = saves.size() == 1 ? "" : loaded.saves[saves.size() - 2];
      ARGOSY_CHECK(part.manifest.after == after, io)
          << "[snapshot] '" << part.path << "' adds to '" << part.manifest.after << "', not to '"
          << after << "'. Do this: restore snapshot.json of '" << directory << "'.";
    }
  }
  if (checks && !saves.empty()) {
    checks->before_first_row(check_contents(saves));
  }
  for (const std::vector<OpenPart>& parts : saves) {
    for (const OpenPart& part : parts) {
      for (const OpenPart::File& file : part.files) {
        load_rows(file, tables, loaded.same_servers);
        for (const RowsBlock& block : file.reader->blocks()) {
          loaded.cut.set(file.table->config().id, block.shard, block.position);
          loaded.rows += block.rows;
        }
      }
      for (const DensePart& d : part.manifest.dense) loaded.cut.set(d.table, 0, d.position);
      loaded.cut.set_state(part.manifest.state_position);
    }
  }
  if (saves.empty()) return loaded;
  for (DenseTable* table : tables.dense) load_dense(table, saves.back(), tables);
  const OpenPart& last = saves.back().front();
  if (loaded.same_servers && !last.manifest.state.empty()) {
    loaded.has_state = true;
    loaded.state = read_checked(join_path(last.path, last.manifest.state),
                                last.manifest.state_bytes, last.manifest.state_sum);
  }
  return loaded;
}

void remove_other_saves(const std::string& directory, const std::vector<std::string>& kept) {
  for (const std::string& name : list_directory(directory))
    if (name.starts_with("save-") && std::find(kept.begin(), kept.end(), name) == kept.end())
      remove_tree(join_path(directory, name));
}

}  // namespace argosy::ps
