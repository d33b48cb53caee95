#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/message.h"

namespace argosy::ps {

// What may wait, done by threads of its own, so that those of the transport need not.
class Tasks {
 public:
  using Work = std::function<void()>;
  using Refuse = std::function<void(Failure)>;

  explicit Tasks(Durability& durability);
  ~Tasks() { stop(std::chrono::milliseconds(0)); }

  // `work` within a pass, which it leaves: here if that needs no waiting, else by the thread for
  // it. `refuse` instead, if the pass cannot be had.
  void in_pass(Passing how, Work work, Refuse refuse);
  // By a thread of its own; false if there are too many. `first`: others may wait for this one.
  bool apart(Work work, bool first = false);
  // Nothing new begins. False if something still runs after the limit.
  bool stop(std::chrono::milliseconds limit);

 private:
  struct Waiting {
    Passing how;
    Work work;
    Refuse refuse;
  };
  void run();
  void ended_apart();

  Durability& durability_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ARGOSY_GUARDED_BY(mutex_);
  uint32_t apart_ ARGOSY_GUARDED_BY(mutex_) = 0;  // threads of apart
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// What is being thrown, as an answer. For catch blocks.
Failure current_failure();
// Thrown by what checks a request.
struct Refusal {
  Failure failure;
};
[[noreturn]] void refuse(Code code, std::string text);

}  // namespace argosy::ps
