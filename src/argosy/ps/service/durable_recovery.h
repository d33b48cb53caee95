#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "argosy/ps/service/durable_snapshots.h"

namespace argosy::ps {

// Brings tables and state back as the server's directory has them.
class Recovery {
 public:
  Recovery(Keeping& k, Snapshots& snapshots) : k_(k), snapshots_(snapshots) {}
  // Locks the directory; opens the log.
  void run();

  std::atomic<uint64_t> rows{0}, records{0};
  std::atomic<int64_t> milliseconds{0};

 private:
  void check_directory() const;
  void replay(const LoadedCut& cut);

  Keeping& k_;
  Snapshots& snapshots_;
};

}  // namespace argosy::ps
