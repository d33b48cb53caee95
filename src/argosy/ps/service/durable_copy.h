#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "argosy/ps/service/durable_gate.h"
#include "argosy/ps/service/log.h"
#include "argosy/ps/service/snapshot.h"

// Copies of tables while the server goes on.
namespace argosy::ps {

// Keeps a copy to so many bytes a second while there are changes, so that they keep the disk and
// the processors; without changes it goes as fast as it can.
class Pace {
 public:
  explicit Pace(Gate& gate) : gate_(gate), entered_(gate.entered()) {}
  void wait();  // until the bytes so far are paid for
  void pay(uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  Gate& gate_;
  uint64_t entered_;
  Clock::time_point free_ = Clock::now();  // when the bytes so far are paid for
  Clock::time_point busy_ = free_;         // until when to care
};

// Copies rows into a snapshot, a few shards at a time. Throws what `interrupted` throws, which it
// calls often.
class Copier {
 public:
  using Interrupted = std::function<void()>;
  // `log`: may be null.
  Copier(Gate& gate, const Log* log, std::chrono::milliseconds limit)
      : gate_(gate), log_(log), limit_(limit) {}

  struct What {
    Selection selection = Selection::all;
    bool mark = true;
    bool consistent = false;  // each piece with the log's position, while nobody is within a pass
    bool positions = false;   // shards without rows are written for theirs
  };
  // What a copy for serving has of delta scores.
  struct Scores {
    SparseTable* table;
    std::vector<Key> keys;
    std::vector<float> scores;
  };
  // Returns bytes of rows. `scores`: gets those of the rows; may be null.
  uint64_t copy(SnapshotWriter* writer, const std::vector<SparseTable*>& tables, const What& what,
                const Interrupted& interrupted, std::vector<Scores>* scores = nullptr);
  // The rows shown most, a share of each table's (all rows of those that count no shows).
  void copy_hottest(SnapshotWriter* writer, const std::vector<SparseTable*>& tables, float share,
                    const Interrupted& interrupted);

 private:
  Gate& gate_;
  const Log* log_;
  const std::chrono::milliseconds limit_;
};

// Alone behind a gate; throws timeout after the limit.
class Alone {
 public:
  Alone(Gate& gate, std::chrono::milliseconds limit, const char* who);
  ~Alone() { gate_.leave_alone(); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Gate& gate_;
};

[[noreturn]] void waited_in_vain(const std::string& who, const std::string& holder,
                                 std::chrono::steady_clock::time_point since);
// Throw timeout, and say who holds the gate or the turn.
void enter_alone(Gate& gate, std::chrono::milliseconds limit, const char* who);
void take_turn(Turn& turn, std::chrono::milliseconds limit, const std::string& who);

}  // namespace argosy::ps
