#include "argosy/ps/service/log_segment.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/ps/service/durable_file.h"
#include "argosy/ps/service/log.h"

namespace argosy::ps {
namespace {

constexpr char kPrefix[] = "log-";
constexpr size_t kDigits = 20;
constexpr size_t kWindow = size_t{1} << 20;

[[noreturn]] void damaged(const std::string& path, uint64_t offset, uint64_t number) {
  ARGOSY_THROW(io) << "[log] '" << path << "' is damaged at byte " << offset << ", where record "
                   << number
                   << " is expected. Pushes from there on were acknowledged and cannot be read. Do "
                      "this: restore the file, or move the log's directory away and start from the "
                      "last saved model.";
}

}  // namespace

SegmentHeader segment_header(uint64_t first) {
  SegmentHeader header;
  header.first = first;
  header.sum = crc32c(&header, offsetof(SegmentHeader, sum));
  return header;
}

void seal(RecordHeader* header) {
  header->sum = crc32c(header, offsetof(RecordHeader, sum));
}

std::string segment_path(const std::string& directory, uint64_t first) {
  char name[40];
  std::snprintf(name, sizeof name, "%s%020llu", kPrefix, static_cast<unsigned long long>(first));
  return join_path(directory, name);
}

std::vector<SegmentName> list_segments(const std::string& directory) {
  std::vector<SegmentName> names;
  for (const std::string& name : list_directory(directory)) {
    if (name.size() != sizeof kPrefix - 1 + kDigits || !name.starts_with(kPrefix)) continue;
    const char* from = name.data() + sizeof kPrefix - 1;
    uint64_t first = 0;
    const auto parsed = std::from_chars(from, from + kDigits, first);
    if (parsed.ec == std::errc{} && parsed.ptr == from + kDigits) {
      names.push_back({join_path(directory, name), first});
    }
  }
  return names;
}

SegmentEnd check_tail(const SegmentName& name) {
  SegmentReader reader(name.path);
  if (!reader.whole()) {
    if (reader.lost_durable()) damaged(name.path, 0, name.first);
    return {false, name.first, 0};
  }
  ARGOSY_CHECK(reader.number() == name.first, io)
      << "[log] '" << name.path << "' begins with record " << reader.number()
      << ". Do this: give the file back its own name.";
  RecordHeader header;
  std::span<const std::byte> payload;
  while (reader.next(&header, &payload)) {
  }
  if (reader.lost_durable()) damaged(name.path, reader.offset(), reader.number());
  return {true, reader.number(), reader.offset()};
}

SegmentReader::SegmentReader(const std::string& path) : file_(path) {
  SegmentHeader header;
  if (file_.size() < sizeof header) return;
  file_.read(0, &header, sizeof header);
  const SegmentHeader expected = segment_header(header.first);
  whole_ = std::memcmp(&header, &expected, sizeof header) == 0 && header.first;
  if (!whole_) return;
  number_ = header.first;
  offset_ = sizeof header;
}

const std::byte* SegmentReader::view(uint64_t offset, size_t bytes) {
  if (offset < window_start_ || offset + bytes > window_start_ + window_.size()) {
    window_.resize(std::min<uint64_t>(std::max(bytes, kWindow), file_.size() - offset));
    window_start_ = offset;
    file_.read(offset, window_.data(), window_.size());
  }
  return window_.data() + (offset - window_start_);
}

bool SegmentReader::next(RecordHeader* header, std::span<const std::byte>* payload) {
  const uint64_t rest = file_.size() - offset_;
  if (!whole_ || rest < sizeof *header) return false;
  std::memcpy(header, view(offset_, sizeof *header), sizeof *header);
  if (header->magic != RecordHeader{}.magic || header->number != number_ ||
      crc32c(header, offsetof(RecordHeader, sum)) != header->sum ||
      record_bytes(header->bytes) > rest) {
    return false;
  }
  const std::byte* bytes = view(offset_ + sizeof *header, header->bytes);
  if (crc32c(bytes, header->bytes) != header->payload_sum) return false;
  *payload = {bytes, header->bytes};
  offset_ += record_bytes(header->bytes);
  ++number_;
  return true;
}

bool SegmentReader::lost_durable() {
  for (uint64_t at = offset_; at + sizeof(RecordHeader) <= file_.size(); at += 8) {
    RecordHeader header;
    std::memcpy(&header, view(at, sizeof header), sizeof header);
    if (header.magic == RecordHeader{}.magic &&
        crc32c(&header, offsetof(RecordHeader, sum)) == header.sum && header.synced >= number_) {
      return true;
    }
  }
  return false;
}

struct LogReader::State {
  std::vector<SegmentName> segments;
  size_t segment = 0;
  std::unique_ptr<SegmentReader> reader;
  uint64_t after = 0;

  void open() {
    const SegmentName& name = segments[segment];
    reader = std::make_unique<SegmentReader>(name.path);
    if (!reader->whole() || reader->number() != name.first) damaged(name.path, 0, name.first);
  }
};

LogReader::LogReader(const std::string& directory, uint64_t after)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.after = after;
  s.segments = list_segments(directory);
  while (s.segment + 1 < s.segments.size() && s.segments[s.segment + 1].first <= after + 1) {
    ++s.segment;
  }
  ARGOSY_CHECK(s.segments.empty() || s.segments[s.segment].first <= after + 1, io)
      << "[log] '" << directory << "' begins with record " << s.segments.front().first
      << ", but those after " << after << " are needed. Do this: put the missing files back.";
}

LogReader::~LogReader() = default;

bool LogReader::next(LogRecord* record) {
  State& s = *state_;
  if (s.segments.empty()) return false;
  if (!s.reader) s.open();
  while (true) {
    const bool last = s.segment + 1 == s.segments.size();
    const uint64_t until = last ? UINT64_MAX : s.segments[s.segment + 1].first;
    RecordHeader header;
    std::span<const std::byte> payload;
    if (s.reader->number() < until && s.reader->next(&header, &payload)) {
      if (header.number <= s.after) continue;
      *record = {header.number, payload};
      return true;
    }
    if (last) {
      if (s.reader->lost_durable()) {
        damaged(s.reader->path(), s.reader->offset(), s.reader->number());
      }
      return false;
    }
    if (s.reader->number() != until) {
      damaged(s.reader->path(), s.reader->offset(), s.reader->number());
    }
    ++s.segment;
    s.open();
  }
}

}  // namespace argosy::ps
