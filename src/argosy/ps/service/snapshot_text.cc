#include "argosy/ps/service/snapshot_text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/ps/service/snapshot_file.h"

namespace argosy::ps {
namespace {

struct Written {
  std::string path;
  Manifest manifest;
};

// Of all saves, in order.
std::vector<Written> parts_of(const std::string& directory) {
  const std::vector<std::string> saves = read_index(directory);
  ARGOSY_CHECK(!saves.empty(), io)
      << "[snapshot] '" << directory << "' has no snapshot.json, so no save ended there. Do this: "
      << "name the directory that was given to save, or server-I-of-N in a server's own.";
  std::vector<Written> parts;
  for (const std::string& save : saves) {
    const uint32_t servers = count_servers(directory, save);
    for (uint32_t i = 0; i < servers; ++i) {
      const std::string path = join_path(join_path(directory, save), part_name(i, servers));
      // A server's own directory has only its own part.
      if (path_exists(path)) {
        parts.push_back({path, read_manifest(join_path(path, "manifest.json"))});
      }
    }
  }
  ARGOSY_CHECK(!parts.empty(), io)
      << "[snapshot] '" << directory
      << "' has none of the parts of its saves. Do this: restore them.";
  return parts;
}

const TableConfig& find(const std::vector<Written>& parts, const std::string& table) {
  std::string known;
  for (const TableConfig& t : parts.back().manifest.tables) {
    if (t.name == table || std::to_string(t.id) == table) return t;
    known += (known.empty() ? "" : ", ") + std::to_string(t.id) + " '" + t.name + "'";
  }
  ARGOSY_THROW(invalid_argument) << "[snapshot] '" << parts.back().path << "' has no table '"
                                 << table << "'. Do this: name one of " << known << '.';
}

class Lines {
 public:
  Lines(uint64_t limit, const std::function<void(std::string_view)>& out)
      : left_(limit ? limit : UINT64_MAX), out_(out) {}
  bool full() const { return !left_; }
  void add(std::string_view first, std::string_view rest) {
    if (!left_) return;
    --left_;
    ((text_ += first) += rest) += '\n';
    if (text_.size() > 1 << 16) flush();
  }
  void flush() {
    if (!text_.empty()) out_(text_);
    text_.clear();
  }

 private:
  uint64_t left_;
  std::string text_;
  const std::function<void(std::string_view)>& out_;
};

void print_sparse(const std::vector<Written>& parts, const TableConfig& config, Lines* lines) {
  TableConfig in_memory = config;
  in_memory.tier = "memory";
  const std::unique_ptr<SparseTable> table = make_sparse_table(in_memory);
  std::vector<std::unique_ptr<RowsReader>> files;
  for (const Written& part : parts) {
    for (const SparsePart& s : part.manifest.sparse) {
      if (s.table != config.id) continue;
      for (const SparsePart::File& f : s.files) {
        files.push_back(std::make_unique<RowsReader>(join_path(part.path, f.name), f.bytes));
      }
    }
  }
  for (uint32_t shard = 0; shard < kShards && !lines->full(); ++shard) {
    std::map<Key, std::vector<std::byte>> rows;
    for (const auto& file : files) {
      for (const RowsBlock& block : file->blocks()) {
        if (block.shard != shard) continue;
        Rows more;
        std::vector<Key> deleted;
        file->read(block, &more, &deleted);
        for (const Key key : deleted) rows.erase(key);
        for (size_t i = 0; i < more.keys.size(); ++i) {
          const std::byte* bytes = more.bytes.data();
          rows[more.keys[i]].assign(bytes + more.offsets[i], bytes + more.offsets[i + 1]);
        }
      }
    }
    for (const auto& [key, row] : rows) {
      lines->add(std::to_string(key) + '\t', table->text(row));
      if (lines->full()) break;
    }
  }
}

void print_dense(const std::vector<Written>& parts, const TableConfig& config, Lines* lines) {
  // Each save has all numbers.
  const std::string& save = parts.back().manifest.save;
  for (const Written& part : parts) {
    for (const DensePart& d : part.manifest.dense) {
      if (part.manifest.save != save || d.table != config.id || d.first >= d.last) continue;
      const std::string bytes = read_checked(join_path(part.path, d.name), d.bytes, d.sum);
      const uint64_t n = d.last - d.first;
      if (bytes.size() < kDenseHead + 4 * n) continue;
      const uint64_t arrays = (bytes.size() - kDenseHead) / (4 * n);
      for (uint64_t i = 0; i < n && !lines->full(); ++i) {
        std::string line;
        for (uint64_t a = 0; a < arrays; ++a) {
          float value;
          std::memcpy(&value, bytes.data() + kDenseHead + 4 * (a * n + i), 4);
          char digits[32];
          std::snprintf(digits, sizeof digits, "\t%.9g", static_cast<double>(value));
          line += digits;
        }
        lines->add(std::to_string(d.first + i), line);
      }
    }
  }
}

}  // namespace

std::string describe_snapshot(const std::string& directory) {
  const std::vector<Written> parts = parts_of(directory);
  const Manifest& last = parts.back().manifest;
  OrderedJson tables = OrderedJson::array();
  for (const TableConfig& config : last.tables) {
    uint64_t rows = 0, deleted = 0, bytes = 0;
    std::string layout;
    for (const Written& part : parts) {
      for (const SparsePart& s : part.manifest.sparse) {
        if (s.table != config.id) continue;
        layout = s.layout;
        for (const SparsePart::File& f : s.files) {
          rows += f.rows;
          deleted += f.deleted;
          bytes += f.bytes;
        }
      }
      for (const DensePart& d : part.manifest.dense) {
        if (d.table == config.id && part.manifest.save == last.save) bytes += d.bytes;
      }
    }
    tables.push_back({{"id", config.id},
                      {"name", config.name},
                      {"kind", config.kind},
                      {"layout", layout},
                      {"rows", rows},
                      {"deleted", deleted},
                      {"size", config.size},
                      {"bytes", bytes}});
  }
  OrderedJson whole = {
      {"saves", read_index(directory)},
      {"servers", last.servers},
      {"parts_here", std::count_if(parts.begin(), parts.end(),
                                   [&](const Written& p) { return p.manifest.save == last.save; })},
      {"mode", last.mode},
      {"tables", tables}};
  return whole.dump();
}

void print_snapshot(const std::string& directory, const std::string& table, uint64_t limit,
                    const std::function<void(std::string_view)>& out) {
  const std::vector<Written> parts = parts_of(directory);
  const TableConfig& config = find(parts, table);
  Lines lines(limit, out);
  config.kind == "sparse" ? print_sparse(parts, config, &lines)
                          : print_dense(parts, config, &lines);
  lines.flush();
}

}  // namespace argosy::ps
