#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "argosy/data/batch.h"
#include "argosy/data/stream.h"

namespace argosy::data {

struct Progress {
  uint64_t samples = 0;                         // read so far
  uint64_t bytes = 0;                           // of files (packed ones: packed), read so far
  uint64_t total_bytes = 0, total_samples = 0;  // 0: unknown
  uint64_t bad_lines = 0;                       // skipped
  size_t queued = 0, room = 0;                  // batches that wait, and may wait
};

// Batches for the workers of one pass over some data.
class ARGOSY_API Source {
 public:
  virtual ~Source();  // ends its threads and processes
  // The next batch for `worker`; false at the end. Any number of threads may call at once. Throws
  // the first error of a reader, once; after that, or stop(), there is no next.
  virtual bool next(int worker, Batch* batch) = 0;
  virtual void stop() = 0;
  virtual Progress progress() const = 0;
  virtual int64_t batch_size() const = 0;  // of all batches but the last ones
};

// A bounded queue between readers and workers, in lanes: worker w takes from lane w % lanes, and
// from the others when that is empty. Who has to wait sleeps.
class ARGOSY_API BatchQueue {
 public:
  BatchQueue(size_t lanes, size_t room, int writers);
  // Into the emptiest lane; waits for room. False after stop().
  bool push(Batch batch);
  bool pop(size_t worker, Batch* batch);  // as Source::next
  void writer_ended();
  void fail(std::exception_ptr error);  // the first one counts
  void stop();
  size_t size() const;
  size_t room() const { return room_; }

 private:
  const size_t room_;
  mutable std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::vector<std::deque<Batch>> lanes_;  // guarded by mutex_, and all below
  size_t size_ = 0;
  int writers_;
  bool stopped_ = false;
  std::exception_ptr error_;
};

struct ReadOptions {
  Format format;
  StreamOptions stream;
  std::vector<std::string> files;
  int64_t batch_size = 1;
  int readers = 1;
  size_t lanes = 1;
  size_t room = 8;              // batches that may wait
  bool skip_bad_lines = false;  // and count them; else they are errors
};

// Reads files as they come: each reader takes the next file that nobody has, and gives batches of
// its own samples in order; the last of each reader may be smaller.
ARGOSY_API std::unique_ptr<Source> read_files(const ReadOptions& options);

// Runs body(reader) on threads that take no signals. Ends with join().
class ARGOSY_API Threads {
 public:
  template <class F>
  void start(int n, F body) {
    SignalsBlocked blocked;
    for (int i = 0; i < n; ++i) threads_.emplace_back(body, i);
  }
  void join() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  ~Threads() { join(); }

 private:
  class ARGOSY_API SignalsBlocked {
   public:
    SignalsBlocked();
    ~SignalsBlocked();

   private:
    struct Mask;
    std::unique_ptr<Mask> before_;
  };
  std::vector<std::thread> threads_;
};

// Parses files one by one, `take` after each `most` samples and at the end of each file if
// `each_file`. What several readers share.
class ARGOSY_API FileReader {
 public:
  FileReader(const ReadOptions& options, const Stop& stop);
  struct Shared {
    std::atomic<size_t> next_file{0};
    std::atomic<uint64_t> samples{0}, bytes{0}, bad_lines{0};
  };
  // take(Columns&, bytes of text): false to end.
  template <class F>
  void run(Shared& shared, F take) {
    const Take call{&take,
                    [](void* f, Columns& c, uint64_t n) { return (*static_cast<F*>(f))(c, n); }};
    run_erased(shared, call);
  }

 private:
  struct Take {
    void* object;
    bool (*call)(void*, Columns&, uint64_t);
  };
  void run_erased(Shared& shared, Take take);

  const ReadOptions& options_;
  const Stop& stop_;
};

}  // namespace argosy::data
