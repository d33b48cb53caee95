#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/request.h"

namespace argosy::ps {

// Rows that threads fetch for their next steps while they compute, on threads of its own.
class Ahead {
 public:
  class Job {
   public:
    explicit Job(std::span<const SparsePull> wanted);
    virtual ~Job();
    virtual void run() = 0;
    bool fetches(std::span<const SparsePull> requests) const;

   protected:
    struct Part {
      uint32_t table;
      std::vector<Key> keys;
    };
    std::vector<Part> parts_;
  };
  ~Ahead() { stop(); }
  // For the calling thread, after what it started before.
  void start(std::shared_ptr<Job> job);
  // The calling thread's first job that fetches these, once it has ended: throws what it threw.
  // Jobs before it are forgotten; null, and all are, if there is none.
  std::shared_ptr<Job> take(std::span<const SparsePull> requests,
                            std::chrono::milliseconds deadline);
  // Ends all threads; jobs that wait are dropped.
  void stop();

 private:
  struct Entry {  // guarded by mutex_; `job` is its thread's while it runs
    std::shared_ptr<Job> job;
    bool done = false;
    std::exception_ptr error;
  };
  void loop();

  Mutex mutex_;
  CondVar work_, done_;
  std::deque<std::shared_ptr<Entry>> queue_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::deque<std::shared_ptr<Entry>>> entries_  // in order
      ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ARGOSY_GUARDED_BY(mutex_);  // as many as have had jobs at once
  size_t idle_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool stopped_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::ps
