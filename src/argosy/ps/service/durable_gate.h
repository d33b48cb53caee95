#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "argosy/base/mutex.h"

namespace argosy::ps {

// Many may be in, or one alone. Who wants to be alone goes before those who come later, so a stream
// of others cannot keep it out. Not owned by threads: another one may leave. Waits end after their
// limit with false.
class Gate {
 public:
  bool enter(std::chrono::milliseconds limit) {
    WaitLock lock(mutex_);
    const auto is_open = [&]() ARGOSY_REQUIRES(mutex_) { return !alone_ && !waiting_; };
    const uint64_t cancels = cancels_;
    open_.wait_for(lock, limit,
                   [&]() ARGOSY_REQUIRES(mutex_) { return is_open() || cancels != cancels_; });
    if (!is_open()) return false;
    ++inside_;
    ++entered_;
    return true;
  }
  // How often somebody entered.
  uint64_t entered() {
    MutexLock guard(mutex_);
    return entered_;
  }
  bool try_enter() {
    MutexLock guard(mutex_);
    if (alone_ || waiting_) return false;
    ++inside_;
    ++entered_;
    return true;
  }
  void leave() {
    MutexLock guard(mutex_);
    if (--inside_ == 0 && waiting_) empty_.notify_one();
  }
  // `who` is for those who wait too long for it.
  bool enter_alone(std::chrono::milliseconds limit, std::string who) {
    WaitLock lock(mutex_);
    ++waiting_;
    const auto is_empty = [&]() ARGOSY_REQUIRES(mutex_) { return !alone_ && !inside_; };
    const uint64_t cancels = cancels_;
    empty_.wait_for(lock, limit,
                    [&]() ARGOSY_REQUIRES(mutex_) { return is_empty() || cancels != cancels_; });
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
    MutexLock guard(mutex_);
    alone_ = false;
    waiting_ ? empty_.notify_one() : open_.notify_all();
  }
  // Those who wait now give up.
  void cancel_waits() {
    MutexLock guard(mutex_);
    ++cancels_;
    open_.notify_all();
    empty_.notify_all();
  }
  // Who is in, for an error.
  std::string holder() {
    MutexLock guard(mutex_);
    return alone_ ? who_ : std::to_string(inside_) + " changes of rows";
  }

 private:
  Mutex mutex_;
  CondVar open_, empty_;
  int inside_ ARGOSY_GUARDED_BY(mutex_) = 0;
  int waiting_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t entered_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t cancels_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool alone_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::string who_ ARGOSY_GUARDED_BY(mutex_);
};

// One at a time, with a limit for waiting. Not owned by threads.
class Turn {
 public:
  bool take(std::chrono::milliseconds limit, std::string who) {
    WaitLock lock(mutex_);
    ++waiting_;
    const uint64_t cancels = cancels_;
    free_.wait_for(lock, limit,
                   [&]() ARGOSY_REQUIRES(mutex_) { return !taken_ || cancels != cancels_; });
    --waiting_;
    if (taken_) return false;
    taken_ = true;
    who_ = std::move(who);
    return true;
  }
  void give() {
    MutexLock guard(mutex_);
    taken_ = false;
    free_.notify_one();
  }
  bool wanted() {
    MutexLock guard(mutex_);
    return waiting_ > 0;
  }
  // Those who wait now give up.
  void cancel_waits() {
    MutexLock guard(mutex_);
    ++cancels_;
    free_.notify_all();
  }
  // Who has it, for an error.
  std::string holder() {
    MutexLock guard(mutex_);
    return who_;
  }

 private:
  Mutex mutex_;
  CondVar free_;
  bool taken_ ARGOSY_GUARDED_BY(mutex_) = false;
  int waiting_ ARGOSY_GUARDED_BY(mutex_) = 0;
  uint64_t cancels_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::string who_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::ps
