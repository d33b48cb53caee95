#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

// std::mutex and what belongs to it, for Clang's thread safety analysis (`make lint`): a class says
// which mutex guards a field and which one a helper wants to be held. For GCC nothing of it is
// there. The analysis looks into no constructor, destructor or alias, and takes a lambda for a
// function that holds nothing: one that is called under a lock says ARGOSY_REQUIRES too (with
// `auto` among its parameters Clang 14 dies of that).
#if defined(__clang__)
#define ARGOSY_LOCKS(attribute) __attribute__((attribute))
#else
#define ARGOSY_LOCKS(attribute)
#endif
#define ARGOSY_GUARDED_BY(mutex) ARGOSY_LOCKS(guarded_by(mutex))
#define ARGOSY_REQUIRES(...) ARGOSY_LOCKS(requires_capability(__VA_ARGS__))
#define ARGOSY_EXCLUDES(...) ARGOSY_LOCKS(locks_excluded(__VA_ARGS__))
#define ARGOSY_ACQUIRE(...) ARGOSY_LOCKS(acquire_capability(__VA_ARGS__))
#define ARGOSY_TRY_ACQUIRE(...) ARGOSY_LOCKS(try_acquire_capability(__VA_ARGS__))
#define ARGOSY_RELEASE(...) ARGOSY_LOCKS(release_capability(__VA_ARGS__))

// A function that the analysis cannot follow, or that needs no lock for a reason of its own.
#define ARGOSY_UNCHECKED ARGOSY_LOCKS(no_thread_safety_analysis)

namespace argosy {

class ARGOSY_LOCKS(capability("mutex")) Mutex {
 public:
  void lock() ARGOSY_ACQUIRE() { mutex_.lock(); }
  bool try_lock() ARGOSY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() ARGOSY_RELEASE() { mutex_.unlock(); }
  // For lambdas whose parameter has the mutex: their callers hold it, which the analysis cannot
  // see.
  void assert_held() const ARGOSY_LOCKS(assert_capability(this)) {}
  auto native_handle() { return mutex_.native_handle(); }

 private:
  friend class WaitLock;
  std::mutex mutex_;
};

// Held from here to the end of the block.
class ARGOSY_LOCKS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ARGOSY_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // It is held already.
  MutexLock(Mutex& mutex, std::adopt_lock_t) ARGOSY_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() ARGOSY_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The same, for who waits or lets go in between.
class ARGOSY_LOCKS(scoped_lockable) WaitLock {
 public:
  explicit WaitLock(Mutex& mutex) ARGOSY_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~WaitLock() ARGOSY_RELEASE() {}
  void lock() ARGOSY_ACQUIRE() { lock_.lock(); }
  void unlock() ARGOSY_RELEASE() { lock_.unlock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// std::condition_variable. `done` is called with the lock held.
class CondVar {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }
  template <class Done>
  void wait(WaitLock& lock, Done done) {
    condition_.wait(lock.lock_, std::move(done));
  }
  template <class Rep, class Period>
  void wait_for(WaitLock& lock, const std::chrono::duration<Rep, Period>& limit) {
    condition_.wait_for(lock.lock_, limit);
  }
  template <class Rep, class Period, class Done>
  bool wait_for(WaitLock& lock, const std::chrono::duration<Rep, Period>& limit, Done done) {
    return condition_.wait_for(lock.lock_, limit, std::move(done));
  }
  template <class Clock, class Duration, class Done>
  bool wait_until(WaitLock& lock, const std::chrono::time_point<Clock, Duration>& until,
                  Done done) {
    return condition_.wait_until(lock.lock_, until, std::move(done));
  }

 private:
  std::condition_variable condition_;
};

}  // namespace argosy
