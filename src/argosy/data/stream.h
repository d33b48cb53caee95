#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "argosy/base/export.h"

// Where text comes from: files, plain or gzip, and commands that filter or fetch them.
namespace argosy::data {

struct StreamOptions {
  // A shell command that gets the file (unpacked) on stdin and writes lines; "" and "cat": none.
  std::string pipe_command;
  // Fetches what has a scheme in front (hdfs:..): called with the path as its last argument.
  std::string remote_command;
  // Seconds that a stream waits for a byte (read or written) before it throws ErrorKind::timeout;
  // infinity: for ever. Time between two calls of read() does not count.
  double timeout = 600;
};

// Tells streams that wait to give up, and hears from them that they go on; safe to call from any
// thread.
class ARGOSY_API Stop {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  void set();
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  int descriptor() const { return fd_; }  // becomes readable
  // How often a stream got on.
  uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  void moved() const { moves_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_{false};
  mutable std::atomic<uint64_t> moves_{0};
  int fd_ = -1;
};

class ARGOSY_API Stream {
 public:
  virtual ~Stream();  // ends what it started, processes included
  // Some bytes, at most `most`; 0 at the end. Throws when a file cannot be read, a command failed
  // (with its exit code and the last lines of its stderr), nothing moved for the timeout, or `stop`
  // was set. What cannot be waited for with a limit is a disk: a local path whose file system
  // hangs.
  virtual size_t read(char* to, size_t most) = 0;
  // Of the file, so far; for progress.
  virtual uint64_t consumed() const = 0;
};

ARGOSY_API std::unique_ptr<Stream> open_stream(const std::string& path,
                                               const StreamOptions& options, const Stop& stop);
// Bytes of a local file; 0 if unknown.
ARGOSY_API uint64_t file_size(const std::string& path);
ARGOSY_API bool is_remote(const std::string& path);

// Text as lines.
class ARGOSY_API Lines {
 public:
  explicit Lines(Stream& stream);
  ~Lines();
  // The next line without '\n'; Parser::kSlack bytes after *end are readable and *end is '\n'.
  // Valid until the next call.
  bool next(const char** begin, const char** end);
  uint64_t number() const { return number_; }  // of that line, from 1

 private:
  bool fill();

  Stream& stream_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_, begin_ = 0, end_ = 0, seen_ = 0;  // no '\n' in [begin_, seen_)
  bool over_ = false;
  uint64_t number_ = 0;
};

}  // namespace argosy::data
