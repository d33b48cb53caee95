#pragma once

#include "argosy/base/export.h"

namespace argosy::op {

// Work that kernels start and other operations wait for uses memory of the run that it belongs to.

// The run that this thread works for, by whatever tells it from others; null outside of runs.
extern ARGOSY_API constinit thread_local const void* run_of_thread
    __attribute__((tls_model("initial-exec")));

class RunScope {
 public:
  explicit RunScope(const void* run) : before_(run_of_thread) { run_of_thread = run; }
  ~RunScope() { run_of_thread = before_; }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  const void* const before_;
};

// Waits until what was started in this thread's run, and not waited for, uses no memory any more.
// Who gives the memory of a run that failed back calls it before. Null unless something is loaded
// that starts such work.
extern ARGOSY_API void (*settle_started)();

}  // namespace argosy::op
