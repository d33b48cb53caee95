#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/message.h"

namespace argosy::ps {

// Threads for calls that may read or write rows on disk. A call of the database that hangs cannot
// be called back and keeps its thread: so these are none of those that answer the network, and who
// waits for one gives up in time.
class DiskCalls {
 public:
  using Clock = std::chrono::steady_clock;
  using Work = std::function<void()>;
  using Refuse = std::function<void(Failure)>;

  // `tables`: for errors.
  DiskCalls(uint32_t threads, std::string tables);
  ~DiskCalls() { stop(std::chrono::milliseconds(0)); }
  DiskCalls(const DiskCalls&) = delete;

  // `work` by one of the threads; `refuse` instead if none is free until then. One of the two is
  // called, once.
  void put(Clock::time_point until, Work work, Refuse refuse);
  // Called often: refuses those whose time is over.
  void tick(Clock::time_point now);
  // Nothing new begins. False if something still runs after the limit: then this must not be
  // destroyed.
  bool stop(std::chrono::milliseconds limit);

 private:
  struct Waiting {
    Clock::time_point until;
    Work work;
    Refuse refuse;
  };
  void run();

  const std::string tables_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ARGOSY_GUARDED_BY(mutex_);
  uint32_t running_ ARGOSY_GUARDED_BY(mutex_) = 0;  // threads
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace argosy::ps
