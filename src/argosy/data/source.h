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
// from the others when that is empty. Who has to wait sleeps, and throws ErrorKind::timeout when
// the other side has not moved for `timeout` seconds: workers by taking batches, writers by
// writing batches or as `reading` tells.
class ARGOSY_API BatchQueue {
 public:
  BatchQueue(size_t lanes, size_t room, int writers, double timeout, const Stop& reading);
  // Into the emptiest lane; waits for room. False after stop().
  bool push(Batch batch);
  bool pop(size_t worker, Batch* batch);  // as Source::next
  void writer_ended();
  void fail(std::exception_ptr error);  // the first one counts
  void stop();
  size_t size() const;
  size_t room() const { return room_; }

 private:
  // Whether ready() came true; false: moves() stayed as it was for the timeout.
  template <class Ready, class Moves>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready,
            Moves moves);

  const size_t room_;
  const double timeout_;
  const Stop& reading_;
  mutable std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::vector<std::deque<Batch>> lanes_;  // guarded by mutex_, and all below
  size_t size_ = 0;
  uint64_t pushed_ = 0, popped_ = 0;
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
// its own samples in order; the last of each reader may be smaller. A reader that the system does
// not let go (of a file system that hangs) is left behind by the end of the source, with a warning.
ARGOSY_API std::unique_ptr<Source> read_files(const ReadOptions& options);

// Runs body(reader) on threads that take no signals. Ends with join().
class ARGOSY_API Threads {
 public:
  template <class F>
  void start(int n, F body) {
    SignalsBlocked blocked;
    for (int i = 0; i < n; ++i) {
      {
        std::lock_guard lock(running_->mutex);
        ++running_->threads;
      }
      threads_.emplace_back([body, i, running = running_] {
        body(i);
        std::lock_guard lock(running->mutex);
        if (--running->threads == 0) running->none.notify_all();
      });
    }
  }
  // Whether all have ended, after `seconds` at most.
  bool wait(double seconds);
  // As wait(); those that have not ended are left behind: what they use must be theirs, too. True
  // after that.
  bool end(double seconds);
  void join() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  ~Threads() { join(); }

 private:
  struct Running {
    std::mutex mutex;
    std::condition_variable none;
    int threads = 0;
  };
  class ARGOSY_API SignalsBlocked {
   public:
    SignalsBlocked();
    ~SignalsBlocked();

   private:
    struct Mask;
    std::unique_ptr<Mask> before_;
  };
  std::shared_ptr<Running> running_ = std::make_shared<Running>();
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
