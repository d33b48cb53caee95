#pragma once

#include <unistd.h>

#include <exception>

#include "argosy/base/export.h"
#include "argosy/base/mutex.h"

namespace argosy::comm {

// A collective or transfer under way. Threads: all calls.
class ARGOSY_API Work {
 public:
  // Waits until it has ended; throws what ended it, if that was an error. Ends by itself: what it
  // waits for has a limit. In a forked child, where nobody would end it, an error at once.
  void wait();
  bool done() const;

  void finish(std::exception_ptr error);

 private:
  const int process_ = getpid();
  mutable Mutex mutex_;
  CondVar ended_;
  bool done_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::comm
