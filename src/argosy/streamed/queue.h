#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "argosy/base/mutex.h"

namespace argosy::streamed {

// One stream: a thread that runs what is pushed, in order. A job handles its own errors.
class Queue {
 public:
  using Job = std::function<void()>;

  // Before each job the thread sleeps a random time of up to this. `name`: of the thread.
  Queue(std::string name, int64_t most_delay_us);
  ~Queue();  // what is in it is done first
  Queue(const Queue&) = delete;

  // The job's position, counted from 1.
  uint64_t push(Job job);
  uint64_t pushed() const;
  bool done(uint64_t position) const;
  void wait(uint64_t position) const;
  // Whether the calling thread is the queue's.
  bool is_here() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  void run(std::string name, int64_t most_delay_us);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::deque<Job> jobs_ ARGOSY_GUARDED_BY(mutex_);
  uint64_t pushed_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool ends_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace argosy::streamed
