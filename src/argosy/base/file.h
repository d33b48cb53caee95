#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

// Files, with errors of kind io that name them.
namespace argosy {

class ARGOSY_API InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Throws if the file has fewer bytes.
  void read(uint64_t offset, void* to, size_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

ARGOSY_API std::string read_file(const std::string& path);

// Names in a directory that were made, replaced or removed are on the disk when it returns. File
// systems that cannot sync a directory are taken to need no such thing.
ARGOSY_API void sync_directory(const std::string& path);

// Written aside and put in place by commit(): others see the old file or the whole new one, also
// after a crash. Without commit() nothing changes. Where commit() throws, the new file may be in
// place, but does not survive a crash for sure. It has the permissions of the file that it
// replaces.
class ARGOSY_API OutputFile {
 public:
  // Removes what killed writers left aside for the same path.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // So that commit() has little left to do, and that may fail: for files that belong together.
  void sync();
  void commit();

 private:
  void create();

  std::string path_, aside_;
  int fd_ = -1;
};

// The path of the file that a link leads to; other paths as they are.
ARGOSY_API std::string followed(const std::string& path);

}  // namespace argosy
