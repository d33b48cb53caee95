#pragma once

#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/client_calls.h"

namespace argosy::ps {

// Tells all servers now and then that the client of a save lives: one of them may wait long for the
// others, and gives up the saves of those who died.
class KeptSave {
 public:
  // `calls` outlives it.
  KeptSave(Calls* calls, uint64_t save);
  ~KeptSave();
  KeptSave(const KeptSave&) = delete;
  KeptSave& operator=(const KeptSave&) = delete;

 private:
  void run();

  Calls& calls_;
  const uint64_t save_;
  Mutex mutex_;
  CondVar ends_;
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace argosy::ps
