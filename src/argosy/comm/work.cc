#include "argosy/comm/work.h"

#include <algorithm>
#include <chrono>

#include "argosy/comm/channel.h"
#include "argosy/comm/error.h"
#include "argosy/comm/staging.h"

namespace argosy::comm {

void Work::wait() {
  if (process_ != getpid()) [[unlikely]]
    throw CommError(
        Failure::closed,
        Message() << "[wait] the task belongs to the process that forked this one. Do this:"
                     " wait for it there.");
  for (;;) {
    {
      WaitLock lock(mutex_);
      if (ended_.wait_for(lock, std::chrono::milliseconds(50),
                          [&]() ARGOSY_REQUIRES(mutex_) { return done_; })) {
        if (error_) std::rethrow_exception(error_);
        const auto under_way = [](const Ref<DeviceEvent>& e) { return !e->done(); };
        if (check_ && std::ranges::any_of(events_, under_way)) check_();
        wait_for(events_);
        return;
      }
    }
    idle();  // without the lock: it may run signal handlers
  }
}

bool Work::done() const {
  MutexLock lock(mutex_);
  return done_;
}

bool Work::completed() const {
  MutexLock lock(mutex_);
  const auto passed = [](const Ref<DeviceEvent>& e) { return e->done(); };
  return done_ && (error_ || std::ranges::all_of(events_, passed));
}

void Work::finish(std::exception_ptr error, std::vector<Ref<DeviceEvent>> events,
                  std::function<void()> check) {
  MutexLock lock(mutex_);
  done_ = true;
  check_ = std::move(check);
  events_ = std::move(events);
  error_ = std::move(error);
  ended_.notify_all();
}

}  // namespace argosy::comm
