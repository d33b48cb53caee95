#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace argosy::ps {

// Many may be in, or one alone. Who wants to be alone goes before those who come later, so a stream
// of others cannot keep it out. Not owned by threads: another one may leave. Waits end after their
// limit with false.
class Gate {
 public:
  bool enter(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    const auto is_open = [&] { return !alone_ && !waiting_; };
    const uint64_t cancels = cancels_;
    open_.wait_for(lock, limit, [&] { return is_open() || cancels != cancels_; });
    if (!is_open()) return false;
    ++inside_;
    ++entered_;
    return true;
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
  // `who` is for those who wait too long for it.
  bool enter_alone(std::chrono::milliseconds limit, std::string who) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const auto is_empty = [&] { return !alone_ && !inside_; };
    const uint64_t cancels = cancels_;
    empty_.wait_for(lock, limit, [&] { return is_empty() || cancels != cancels_; });
    --waiting_;
    if (!is_empty()) {
      if (!alone_ && !waiting_) open_.notify_all();
      return false;
    }
    alone_ = true;
    who_ = std::move(who);
    return true;
  }
  void leave_alone() {
    std::lock_guard guard(mutex_);
    alone_ = false;
    waiting_ ? empty_.notify_one() : open_.notify_all();
  }
  // Those who wait now give up.
  void cancel_waits() {
    std::lock_guard guard(mutex_);
    ++cancels_;
    open_.notify_all();
    empty_.notify_all();
  }
  // Who is in, for an error.
  std::string holder() {
    std::lock_guard guard(mutex_);
    return alone_ ? who_ : std::to_string(inside_) + " changes of rows";
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable open_, empty_;
  int inside_ = 0, waiting_ = 0;
  uint64_t entered_ = 0, cancels_ = 0;
  bool alone_ = false;
  std::string who_;
};

// One at a time, with a limit for waiting. Not owned by threads.
class Turn {
 public:
  bool take(std::chrono::milliseconds limit, std::string who) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const uint64_t cancels = cancels_;
    free_.wait_for(lock, limit, [&] { return !taken_ || cancels != cancels_; });
    --waiting_;
    if (taken_) return false;
    taken_ = true;
    who_ = std::move(who);
    return true;
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
  // Those who wait now give up.
  void cancel_waits() {
    std::lock_guard guard(mutex_);
    ++cancels_;
    free_.notify_all();
  }
  // Who has it, for an error.
  std::string holder() {
    std::lock_guard guard(mutex_);
    return who_;
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable free_;
  bool taken_ = false;
  int waiting_ = 0;
  uint64_t cancels_ = 0;
  std::string who_;
};

}  // namespace argosy::ps
