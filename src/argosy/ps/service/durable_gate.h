#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace argosy::ps {

// Many may be in, or one alone. Who wants to be alone goes before those who come later, so a stream
// of others cannot keep it out. Not owned by threads: another one may leave.
class Gate {
 public:
  void enter() {
    std::unique_lock lock(mutex_);
    open_.wait(lock, [&] { return !alone_ && !waiting_; });
    ++inside_;
    ++entered_;
  }
  // How often somebody entered.
  uint64_t entered() {
    std::lock_guard guard(mutex_);
    return entered_;
  }
  bool try_enter() {
    std::lock_guard guard(mutex_);
    if (alone_ || waiting_) return false;
    ++inside_;
    ++entered_;
    return true;
  }
  void leave() {
    std::lock_guard guard(mutex_);
    if (--inside_ == 0 && waiting_) empty_.notify_one();
  }
  void enter_alone() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    empty_.wait(lock, [&] { return !alone_ && !inside_; });
    --waiting_;
    alone_ = true;
  }
  void leave_alone() {
    std::lock_guard guard(mutex_);
    alone_ = false;
    waiting_ ? empty_.notify_one() : open_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable open_, empty_;
  int inside_ = 0, waiting_ = 0;
  uint64_t entered_ = 0;
  bool alone_ = false;
};

// One at a time, with a limit for waiting. Not owned by threads.
class Turn {
 public:
  bool take(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool free = free_.wait_for(lock, limit, [&] { return !taken_; });
    --waiting_;
    taken_ = taken_ || free;
    return free;
  }
  void give() {
    std::lock_guard guard(mutex_);
    taken_ = false;
    free_.notify_one();
  }
  bool wanted() {
    std::lock_guard guard(mutex_);
    return waiting_ > 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
  int waiting_ = 0;
};

}  // namespace argosy::ps
