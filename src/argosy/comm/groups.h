#pragma once

#include <map>
#include <memory>

#include "argosy/base/mutex.h"
#include "argosy/comm/process_group.h"

namespace argosy::comm {

// The groups of a rank by number, where operations of Programs find theirs when they run, and the
// collectives that such operations have started and not yet waited for.
//
// A process is one rank, and has one of these. A thread that is a rank of its own (tests of passes
// run N ranks in one process) puts its own in force by a Scope; its Programs must then run on that
// thread alone (runtime::Parallel::off).
// Threads: all calls.
class ARGOSY_API Groups {
 public:
  // Those of this thread's rank.
  static Groups& current();

  // Operations for group `number` use it from now on, as long as somebody else holds it.
  void enter(int64_t number, const std::shared_ptr<ProcessGroup>& group);
  // Throws CommError in the name of `what` where there is none.
  std::shared_ptr<ProcessGroup> find(int64_t number, const char* what) const;

  // What the group has just started gets a number for `end`, never 0.
  int64_t begin(std::shared_ptr<ProcessGroup> group, std::shared_ptr<Work> work);
  // Waits for it; throws what ended it.
  void end(int64_t number);
  // Returns when nothing that was started uses memory any more, and forgets it. What the other
  // ranks keep waiting for ends after some seconds: this rank's run has failed, so its group is
  // closed.
  void settle();

  class ARGOSY_API Scope {
   public:
    explicit Scope(Groups& groups);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Groups* const before_;
  };

 private:
  struct Started {
    std::shared_ptr<ProcessGroup> group;
    std::shared_ptr<Work> work;
    const void* run;
  };

  mutable Mutex mutex_;
  std::map<int64_t, std::weak_ptr<ProcessGroup>> groups_ ARGOSY_GUARDED_BY(mutex_);
  std::map<int64_t, Started> started_ ARGOSY_GUARDED_BY(mutex_);
  int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
};

}  // namespace argosy::comm
