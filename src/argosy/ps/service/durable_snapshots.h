#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "argosy/ps/service/durability.h"
#include "argosy/ps/service/durable_copy.h"

namespace argosy::ps {

// What the parts of a server's durability share. Locks: turn before gate.
struct Keeping {
  explicit Keeping(Host& h) : host(h) {}
  Host& host;
  std::string own;  // the server's directory; empty: nothing is kept
  bool logs = false;
  Gate gate;
  Turn turn;  // of snapshots, saves, loads and whole changes
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<Log> log;

  std::chrono::milliseconds limit() const { return host.options().turn_limit; }
  uint64_t position() const { return log ? log->last() : 0; }
  Manifest manifest(const std::string& save, const std::string& after, int mode) const;
  TableSet tables(uint32_t only = kAllTables) const;
};

// A server's own snapshots: a complete one and those that add to it. Guarded by Keeping::turn, but
// for the counts.
class Snapshots {
 public:
  explicit Snapshots(Keeping& k) : k_(k) {}

  // alone: the gate is held too.
  enum class How : uint8_t { waiting, in_background, alone };
  // Throws what `interrupted` throws, which is called often.
  void write(How how, const Copier::Interrupted& interrupted);
  // What tables think changed is no longer what changed since the last one.
  void lose_marks() { marks_hold_ = false; }
  void start_from(std::vector<std::string> chain) { chain_ = std::move(chain); }

  std::atomic<uint64_t> count{0}, rows{0}, bytes{0};
  std::atomic<int64_t> milliseconds{0};

 private:
  bool can_add() const;

  Keeping& k_;
  std::vector<std::string> chain_;
  uint64_t complete_bytes_ = 0, added_bytes_ = 0;
  bool marks_hold_ = false;  // what tables think changed is what changed since chain_.back()
};

}  // namespace argosy::ps
