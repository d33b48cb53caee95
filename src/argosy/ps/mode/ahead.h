#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace argosy::ps {

// What threads that train want to have done while they compute: one job of each at a time, on
// threads of its own.
class Ahead {
 public:
  class Job {
   public:
    virtual ~Job();
    virtual void run() = 0;
  };
  ~Ahead() { stop(); }
  // For the calling thread. Its job before, if nobody took it, is forgotten.
  void start(std::shared_ptr<Job> job);
  // The calling thread's job, once it has ended: throws what it threw. Null if there is none.
  std::shared_ptr<Job> take(std::chrono::milliseconds deadline);
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
  std::map<std::thread::id, std::shared_ptr<Entry>> entries_;
  std::vector<std::thread> threads_;  // as many as have had jobs at once
  size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace argosy::ps
