#include "argosy/ps/service/snapshot_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "argosy/base/error.h"
#include "argosy/base/json.h"

namespace argosy::ps {
namespace {

struct FileHeader {
  char magic[8] = {'A', 'R', 'G', 'O', 'R', 'O', 'W', '1'};
};

struct BlockHeader {
  uint32_t magic = 0x31424c41;  // "ALB1"
  uint32_t shard = 0;
  uint64_t position = 0;
  uint64_t rows = 0;
  uint64_t deleted = 0;
  uint64_t bytes = 0;     // of all rows
  uint32_t width = 0;     // bytes of each row; 0: sizes follow the keys
  uint32_t body_sum = 0;  // CRC-32C of what follows: keys, deleted keys, sizes, rows, filling
  uint64_t unused = 0;
  uint32_t unused2 = 0;
  uint32_t sum = 0;  // CRC-32C of what stands before
};
static_assert(sizeof(BlockHeader) == 64);

constexpr uint64_t kMaxRowBytes = 1 << 20;
constexpr char kIndex[] = "snapshot.json";

uint64_t filling(uint64_t bytes) {
  return (8 - bytes % 8) % 8;
}

// Of the body of a block, without the filling. Counts are bounded by the caller.
uint64_t body_bytes(const BlockHeader& h) {
  return 8 * (h.rows + h.deleted) + (h.width ? 0 : 4 * h.rows) + h.bytes;
}

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  ARGOSY_THROW(io) << "[snapshot] '" << path << "' is damaged: " << why
                   << ". Do this: restore the file from a copy, or load an older save.";
}

// {"checksum": .., "content": ..}: the sum is of the content as dump() prints it.
void write_json(const Json& content, const std::string& path) {
  const std::string text = content.dump();
  const Json whole = {{"checksum", crc32c(text.data(), text.size())}, {"content", content}};
  OutputFile file(path);
  file.write(whole.dump(1));
  file.write("\n");
  file.commit();
}

// Calls read(content); whatever is not as expected becomes an error that names the file.
template <class F>
auto read_json(const std::string& path, F&& read) {
  const std::string text = read_file(path);
  try {
    const Json whole = parse_json(text);
    const Json& content = whole.at("content");
    const std::string plain = content.dump();
    if (whole.at("checksum").get<uint32_t>() != crc32c(plain.data(), plain.size())) {
      damaged(path, "its checksum differs");
    }
    return read(content);
  } catch (const Json::exception& e) {
    damaged(path, e.what());
  }
}

std::string plain_name(const Json& value) {
  const auto name = value.get<std::string>();
  if (!is_plain_name(name)) {
    throw Json::other_error::create(501, "'" + name + "' is no file name", nullptr);
  }
  return name;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() < 200 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '.' || c == '-' || c == '_';
         });
}

RowsWriter::RowsWriter(const std::string& path) : file_(path) {
  const FileHeader header;
  file_.write(&header, sizeof header);
}

void RowsWriter::write(uint32_t shard, uint64_t position, const Rows& rows,
                       std::span<const Key> deleted) {
  const size_t n = rows.keys.size();
  BlockHeader h;
  h.shard = shard;
  h.position = position;
  h.rows = n;
  h.deleted = deleted.size();
  h.bytes = rows.bytes.size();
  const auto size = [&](size_t i) { return rows.offsets[i + 1] - rows.offsets[i]; };
  h.width = n ? size(0) : 0;
  uint32_t other = 0;
  for (size_t i = 0; i < n; ++i) other |= size(i) ^ h.width;
  if (other) h.width = 0;
  std::vector<uint32_t> sizes(h.width ? 0 : n);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = size(i);
  const char zeros[8] = {};
  const std::span<const std::byte> parts[] = {
      std::as_bytes(std::span(rows.keys)), std::as_bytes(deleted), std::as_bytes(std::span(sizes)),
      std::span(rows.bytes), std::as_bytes(std::span(zeros)).first(filling(body_bytes(h)))};
  for (const auto& part : parts) h.body_sum = crc32c(part.data(), part.size(), h.body_sum);
  h.sum = crc32c(&h, offsetof(BlockHeader, sum));
  file_.write(&h, sizeof h);
  for (const auto& part : parts) file_.write(part.data(), part.size());
  rows_ += n;
  deleted_ += deleted.size();
}

void RowsWriter::finish() {
  file_.finish();
}

RowsReader::RowsReader(const std::string& path, uint64_t bytes) : file_(path) {
  if (file_.size() != bytes) {
    damaged(path,
            "expected " + std::to_string(bytes) + " bytes, got " + std::to_string(file_.size()));
  }
  FileHeader start;
  const FileHeader expected;
  if (bytes < sizeof start) damaged(path, "it has no header");
  file_.read(0, &start, sizeof start);
  if (std::memcmp(&start, &expected, sizeof start)) damaged(path, "it is no file of rows");
  for (uint64_t at = sizeof start; at < bytes;) {
    const auto bad = [&](const char* what) {
      damaged(path, std::string(what) + " at byte " + std::to_string(at));
    };
    BlockHeader h;
    if (bytes - at < sizeof h) bad("half a header");
    file_.read(at, &h, sizeof h);
    const uint64_t rest = bytes - at - sizeof h;
    if (h.magic != BlockHeader{}.magic || crc32c(&h, offsetof(BlockHeader, sum)) != h.sum) {
      bad("no header");
    }
    // Each by itself first, so that the sum cannot overflow.
    if (h.shard >= kShards || h.rows > rest || h.deleted > rest || h.bytes > rest ||
        h.bytes > UINT32_MAX || h.width > kMaxRowBytes ||
        (h.width && h.rows * h.width != h.bytes) || body_bytes(h) + filling(body_bytes(h)) > rest) {
      bad("an impossible header");
    }
    const uint64_t body = body_bytes(h) + filling(body_bytes(h));
    blocks_.push_back(
        {h.shard, h.position, h.rows, h.deleted, at + sizeof h, body, h.width, h.body_sum});
    at += sizeof h + body;
  }
}

void RowsReader::read(const RowsBlock& block, Rows* rows, std::vector<Key>* deleted) const {
  rows->clear();
  rows->keys.resize(block.rows);
  deleted->resize(block.deleted);
  std::vector<uint32_t> sizes(block.width ? 0 : block.rows);
  const uint64_t before = 8 * (block.rows + block.deleted) + sizeof(uint32_t) * sizes.size();
  // The filling comes with the rows and goes once the sum is known.
  rows->bytes.resize(block.bytes - before);
  uint64_t at = block.offset;
  uint32_t sum = 0;
  const auto take = [&](void* to, size_t bytes) {
    if (!bytes) return;
    file_.read(at, to, bytes);
    sum = crc32c(to, bytes, sum);
    at += bytes;
  };
  take(rows->keys.data(), 8 * rows->keys.size());
  take(deleted->data(), 8 * deleted->size());
  take(sizes.data(), 4 * sizes.size());
  take(rows->bytes.data(), rows->bytes.size());
  const auto bad = [&](const char* what) {
    damaged(path(), std::string(what) + " of the block at byte " + std::to_string(block.offset));
  };
  if (sum != block.sum) bad("the checksum differs");
  rows->offsets.resize(block.rows + 1);
  uint64_t end = 0;
  for (size_t i = 0; i < block.rows; ++i) {
    const uint32_t size = block.width ? block.width : sizes[i];
    if (size > kMaxRowBytes) bad("impossible row sizes");
    end += size;
    if (end > rows->bytes.size()) bad("impossible row sizes");
    rows->offsets[i + 1] = static_cast<uint32_t>(end);
  }
  if (rows->bytes.size() - end >= 8) bad("impossible row sizes");
  rows->bytes.resize(end);
}

void write_manifest(const Manifest& m, const std::string& path) {
  Json sparse = Json::array(), dense = Json::array();
  for (const SparsePart& part : m.sparse) {
    Json files = Json::array();
    for (const SparsePart::File& f : part.files) {
      files.push_back(
          {{"name", f.name}, {"bytes", f.bytes}, {"rows", f.rows}, {"deleted", f.deleted}});
    }
    sparse.push_back({{"table", part.table}, {"layout", part.layout}, {"files", files}});
  }
  for (const DensePart& part : m.dense) {
    dense.push_back({{"table", part.table},
                     {"first", part.first},
                     {"last", part.last},
                     {"log_position", part.position},
                     {"name", part.name},
                     {"bytes", part.bytes},
                     {"checksum", part.sum}});
  }
  Json content = {{"format", 1},        {"save", m.save},
                  {"after", m.after},   {"mode", m.mode},
                  {"server", m.server}, {"servers", m.servers},
                  {"epoch", m.epoch},   {"tables", parse_json(to_json(m.tables))},
                  {"sparse", sparse},   {"dense", dense}};
  if (!m.state.empty()) {
    content["state"] = {{"name", m.state},
                        {"log_position", m.state_position},
                        {"bytes", m.state_bytes},
                        {"checksum", m.state_sum}};
  }
  write_json(content, path);
}

Manifest read_manifest(const std::string& path) {
  return read_json(path, [&](const Json& c) {
    ARGOSY_CHECK(c.at("format") == 1, io)
        << "[snapshot] '" << path << "' has format " << c.at("format").dump()
        << ", this version reads format 1. Do this: read it with the version that wrote it.";
    Manifest m;
    m.save = plain_name(c.at("save"));
    if (c.at("after") != "") m.after = plain_name(c.at("after"));
    c.at("mode").get_to(m.mode);
    c.at("server").get_to(m.server);
    c.at("servers").get_to(m.servers);
    c.at("epoch").get_to(m.epoch);
    try {
      m.tables = parse_tables(c.at("tables").dump());
    } catch (const Error& e) {
      damaged(path, e.what());
    }
    for (const Json& s : c.at("sparse")) {
      SparsePart part;
      s.at("table").get_to(part.table);
      s.at("layout").get_to(part.layout);
      for (const Json& f : s.at("files")) {
        part.files.push_back({plain_name(f.at("name")), f.at("bytes").get<uint64_t>(),
                              f.at("rows").get<uint64_t>(), f.at("deleted").get<uint64_t>()});
      }
      m.sparse.push_back(std::move(part));
    }
    for (const Json& d : c.at("dense")) {
      DensePart part;
      d.at("table").get_to(part.table);
      d.at("first").get_to(part.first);
      d.at("last").get_to(part.last);
      d.at("log_position").get_to(part.position);
      part.name = plain_name(d.at("name"));
      d.at("bytes").get_to(part.bytes);
      d.at("checksum").get_to(part.sum);
      m.dense.push_back(std::move(part));
    }
    if (c.contains("state")) {
      const Json& s = c.at("state");
      m.state = plain_name(s.at("name"));
      s.at("log_position").get_to(m.state_position);
      s.at("bytes").get_to(m.state_bytes);
      s.at("checksum").get_to(m.state_sum);
    }
    return m;
  });
}

std::string read_checked(const std::string& path, uint64_t bytes, uint32_t sum) {
  InputFile file(path);
  if (file.size() != bytes) {
    damaged(path,
            "expected " + std::to_string(bytes) + " bytes, got " + std::to_string(file.size()));
  }
  std::string content(bytes, '\0');
  file.read(0, content.data(), bytes);
  if (crc32c(content.data(), bytes) != sum) damaged(path, "its checksum differs");
  return content;
}

std::vector<std::string> read_names(const std::string& path) {
  if (!path_exists(path)) return {};
  return read_json(path, [&](const Json& c) {
    ARGOSY_CHECK(c.at("format") == 1, io)
        << "[snapshot] '" << path << "' has format " << c.at("format").dump()
        << ", this version reads format 1. Do this: read it with the version that wrote it.";
    std::vector<std::string> saves;
    for (const Json& name : c.at("saves")) saves.push_back(plain_name(name));
    if (saves.empty()) damaged(path, "it names no save");
    return saves;
  });
}

void write_names(const std::string& path, const std::vector<std::string>& saves) {
  write_json({{"format", 1}, {"saves", saves}}, path);
}

std::vector<std::string> read_index(const std::string& directory) {
  return read_names(join_path(directory, kIndex));
}

void write_index(const std::string& directory, const std::vector<std::string>& saves) {
  write_names(join_path(directory, kIndex), saves);
}

std::string part_name(uint32_t server, uint32_t servers) {
  return "part-" + std::to_string(server) + "-of-" + std::to_string(servers);
}

uint32_t count_servers(const std::string& directory, const std::string& save) {
  const std::string path = join_path(directory, save);
  std::set<uint32_t> counts;
  for (const std::string& name : list_directory(path)) {
    unsigned server = 0, servers = 0;
    char more = 0;
    if (std::sscanf(name.c_str(), "part-%u-of-%u%c", &server, &servers, &more) == 2 &&
        server < servers) {
      counts.insert(servers);
    }
  }
  ARGOSY_CHECK(counts.size() == 1, io)
      << "[snapshot] '" << path << "' has "
      << (counts.empty() ? "no parts" : "parts written by different numbers of servers")
      << ". Do this: restore it, or save again.";
  return *counts.begin();
}

}  // namespace argosy::ps
