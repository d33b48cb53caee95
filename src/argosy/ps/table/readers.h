#pragma once

#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"

namespace argosy::ps {

// Threads that wait for a disk, so that it has many requests at once. They start with the first
// run() that has use for them.
class Readers {
 public:
  // A piece of work, [0, parts). run() must not throw.
  class Job {
   public:
    virtual ~Job() = default;
    virtual void run(size_t part) noexcept = 0;
  };

  explicit Readers(size_t threads) : wanted_(threads) {}
  ~Readers();
  // Runs all parts, on this thread too. Any thread may call it.
  void run(size_t parts, Job* job);

 private:
  struct Open {
    Job* job = nullptr;
    size_t parts = 0, next = 0, running = 0;
    CondVar done;
  };
  void work();
  // Takes a part and runs it. REQUIRES: a part that nobody took.
  void run_one(Open* open) ARGOSY_REQUIRES(mutex_);

  const size_t wanted_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Open*> open_ ARGOSY_GUARDED_BY(mutex_);  // that have parts nobody took
  std::vector<std::thread> threads_ ARGOSY_GUARDED_BY(mutex_);
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::ps
