#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/service/durable_file.h"

namespace argosy::ps {

struct LogOptions {
  std::string directory;
  uint64_t segment_bytes = uint64_t{256} << 20;
  // Records that wait for the disk. An append beyond it waits in turn.
  size_t buffer_bytes = size_t{64} << 20;
  std::chrono::milliseconds retry_every{200};  // after a failed write
};

// A write-ahead log: records numbered from 1 on, in segment files of one directory. Every call may
// come from any thread. docs/file_formats.md describes the files.
//
// One thread writes and syncs what has been gathered while it was busy before (group commit). When
// a write fails (disk full, input/output error), the records concerned are kept, those who wait for
// them and new appends get an error of kind io, and the thread tries again until it succeeds: from
// then on all is as before, with no record lost that append() gave a number to.
class ARGOSY_API Log {
 public:
  // Opens the log of a directory or makes one. A torn tail, which was never durable, is cut. Throws
  // (io) for damage in what was durable, and names file and offset. `after`: numbers at most this
  // are held by a snapshot: a log that ends before it begins anew there.
  Log(const LogOptions& options, uint64_t after);
  ~Log();  // writes what is left
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Number of the record made of all parts. Not durable yet.
  uint64_t append(std::span<const std::span<const std::byte>> parts);
  // Returns once all records up to `number` are durable. Throws io if the disk refuses them now
  // (they may yet become durable), timeout if it does not answer.
  void wait(uint64_t number, std::chrono::milliseconds deadline);

  // Calls back once, with an empty text when all up to `number` are durable, else with the reason
  // why the disk refuses them now. From the caller's thread or the log's; must not wait.
  void when_durable(uint64_t number, std::function<void(const std::string&)> done);

  uint64_t last() const;     // number of the last record appended; 0 at first
  uint64_t durable() const;  // all up to this one are durable
  uint64_t bytes() const;    // of all segments

  // Segments that hold only records up to `number` go away.
  void forget(uint64_t number);

  const std::string& directory() const { return options_.directory; }

 private:
  struct Segment {
    uint64_t first;  // number of its first record
    uint64_t bytes;
  };

  struct Waiter {
    uint64_t number;
    std::function<void(const std::string&)> done;
  };

  void recover(uint64_t after) ARGOSY_UNCHECKED;  // before the thread
  void run();
  void write_batch(std::vector<std::byte>& batch, uint64_t first);
  void start_segment(uint64_t first);
  // Calls back those up to `number`; all when there is a failure.
  void answer(uint64_t number, const std::string& failure);

  const LogOptions options_;
  DirectoryLock lock_;

  mutable Mutex mutex_;
  CondVar work_, done_;
  // Records last_ - .. to last_, not handed to the thread.
  std::vector<std::byte> buffer_ ARGOSY_GUARDED_BY(mutex_);
  uint64_t last_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t durable_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<Waiter> waiters_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Segment> segments_ ARGOSY_GUARDED_BY(mutex_);  // the last one is being written
  std::string failure_ ARGOSY_GUARDED_BY(mutex_);  // why the disk refuses; empty: it does not
  bool stop_ ARGOSY_GUARDED_BY(mutex_) = false;

  // Of the thread (and of the constructor).
  AppendFile file_;
  std::thread thread_;
};

struct LogRecord {
  uint64_t number = 0;
  std::span<const std::byte> payload;  // until the next call
};

// Reads the records of a directory in order.
class ARGOSY_API LogReader {
 public:
  // From the first number after `after`. Throws (io) if the log begins later; next() if it is
  // damaged. A torn tail is the end.
  LogReader(const std::string& directory, uint64_t after);
  ~LogReader();
  bool next(LogRecord* record);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace argosy::ps
