#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/file.h"

// What the log and snapshots need of a file system. Errors are of kind io and name the path.
namespace argosy::ps {

// CRC-32C (Castagnoli), by the processor's own instruction. Pass the sum so far to go on.
ARGOSY_API uint32_t crc32c(const void* data, size_t bytes, uint32_t sum = 0);

// A file that grows at its end. Not thread safe.
class AppendFile {
 public:
  AppendFile() = default;
  // Creates the file; throws if it is there.
  explicit AppendFile(const std::string& path);
  // Goes on at `size` of a file that is there; what lies beyond is cut off.
  AppendFile(const std::string& path, uint64_t size);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  bool open() const { return fd_ >= 0; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // When it throws, size() is what was written and more may lie behind.
  void write(const void* data, size_t bytes);
  void cut(uint64_t size);
  void sync();  // of data and size
  void close();

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// A new file that gets long and is not read soon: written in large pieces past the page cache,
// which costs a fraction of the processor time and leaves the cache to others; through it on file
// systems that know no other way. Not thread safe.
class BulkFile {
 public:
  explicit BulkFile(const std::string& path);
  ~BulkFile();
  BulkFile(const BulkFile&) = delete;
  BulkFile& operator=(const BulkFile&) = delete;

  uint64_t size() const { return size_; }  // of what write() got
  void write(const void* data, size_t bytes);
  // Writes what is left, syncs and closes.
  void finish();

 private:
  void flush(size_t bytes);

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  std::byte* buffer_ = nullptr;
  size_t used_ = 0;
};

// Holds a directory for this process until destroyed; the directory is made if need be. Another
// holder is waited for for 2 s: one that was killed may not have ended yet.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_ = -1;
};

// With those above it. What is made is on the disk when it returns.
void make_directories(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);
// With all that is in it. Best effort: what cannot go stays.
void remove_tree(const std::string& path) noexcept;
void remove_empty_directory(const std::string& path) noexcept;
std::string join_path(std::string_view directory, std::string_view name);
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);
bool is_link(const std::string& path);
// Names in a directory, sorted; none if it is not there.
std::vector<std::string> list_directory(const std::string& path);
uint64_t random_number();
// Throws if the file system of a directory has less room than this and some more.
void check_room(const std::string& directory, uint64_t bytes);

}  // namespace argosy::ps
