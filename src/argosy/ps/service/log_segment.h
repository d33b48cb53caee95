#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/file.h"

// The files of a Log (docs/file_formats.md). Little-endian.
namespace argosy::ps {

constexpr size_t kMaxRecordBytes = size_t{1} << 30;

struct SegmentHeader {
  char magic[8] = {'A', 'R', 'G', 'O', 'L', 'O', 'G', '1'};
  uint64_t first = 0;  // number of the first record
  uint64_t unused = 0;
  uint32_t unused2 = 0;
  uint32_t sum = 0;  // CRC-32C of what stands before
};
static_assert(sizeof(SegmentHeader) == 32);

struct RecordHeader {
  uint32_t magic = 0x31524c41;  // "ALR1"
  uint32_t bytes = 0;           // of the payload, which is padded to a multiple of 8
  uint64_t number = 0;
  // All up to this number were synced when this record was written: damage in them is no torn tail.
  uint64_t synced = 0;
  uint32_t payload_sum = 0;
  uint32_t sum = 0;  // CRC-32C of what stands before
};
static_assert(sizeof(RecordHeader) == 32);

constexpr size_t record_bytes(size_t payload) {
  return sizeof(RecordHeader) + (payload + 7) / 8 * 8;
}

SegmentHeader segment_header(uint64_t first);
void seal(RecordHeader* header);

struct SegmentName {
  std::string path;
  uint64_t first;
};
std::string segment_path(const std::string& directory, uint64_t first);
std::vector<SegmentName> list_segments(const std::string& directory);  // in order

struct SegmentEnd {
  bool whole;       // false: not even the header is
  uint64_t next;    // number of the record that would follow
  uint64_t offset;  // where it would begin
};
// Where the last segment of a log ends. Throws if something damaged had been durable.
SegmentEnd check_tail(const SegmentName& name);

// Goes through one segment.
class SegmentReader {
 public:
  explicit SegmentReader(const std::string& path);
  bool whole() const { return whole_; }
  // False at the end or at the first thing that is not a whole record; it stays there.
  bool next(RecordHeader* header, std::span<const std::byte>* payload);
  uint64_t number() const { return number_; }  // that the next record must have
  uint64_t offset() const { return offset_; }  // of the next record
  const std::string& path() const { return file_.path(); }
  // Whether a record behind offset() says that the one there had been durable.
  bool lost_durable();

 private:
  const std::byte* view(uint64_t offset, size_t bytes);  // bytes must be there

  InputFile file_;
  bool whole_ = false;
  uint64_t number_ = 0, offset_ = 0;
  std::vector<std::byte> window_;
  uint64_t window_start_ = 0;
};

}  // namespace argosy::ps
