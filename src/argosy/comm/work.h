#pragma once

#include <unistd.h>

#include <exception>
#include <functional>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/base/export.h"
#include "argosy/base/mutex.h"

namespace argosy::comm {

// A collective or transfer under way. Threads: all calls.
class ARGOSY_API Work {
 public:
  // Waits until it has ended; throws what ended it, if that was an error. Ends by itself: what it
  // waits for has a limit. In a forked child, where nobody would end it, an error at once. Work
  // that the calling thread enqueues later on a device of the tensors runs after it.
  void wait();
  // Whether the host has nothing more to do for it.
  bool done() const;
  // Whether nothing of it is under way on devices, either.
  bool completed() const;

  // `events`: what is still under way on devices. check: called by who waits while some of it is;
  // throws where that will not end as it should.
  void finish(std::exception_ptr error, std::vector<Ref<DeviceEvent>> events = {},
              std::function<void()> check = {});

 private:
  const int process_ = getpid();
  mutable Mutex mutex_;
  CondVar ended_;
  bool done_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Ref<DeviceEvent>> events_ ARGOSY_GUARDED_BY(mutex_);
  std::function<void()> check_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::comm
