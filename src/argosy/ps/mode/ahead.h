#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

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
  struct Entry {
    std::shared_ptr<Job> job;
    bool done = false;
    std::exception_ptr error;
  };
  void loop();

  std::mutex mutex_;  // guards all below
  std::condition_variable work_, done_;
  std::deque<std::shared_ptr<Entry>> queue_;
  std::map<std::thread::id, std::deque<std::shared_ptr<Entry>>> entries_;  // in order
  std::vector<std::thread> threads_;  // as many as have had jobs at once
  size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace argosy::ps
