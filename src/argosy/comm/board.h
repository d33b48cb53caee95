#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/engine.h"
#include "argosy/comm/error.h"
#include "argosy/comm/header.h"

namespace argosy::comm {

using Clock = std::chrono::steady_clock;

// Bytes that a rank shows in one step.
inline constexpr size_t kWindow = size_t{256} << 10;
// Bytes under way from one rank to another: a message of 128 KB with its header.
inline constexpr size_t kRing = (size_t{128} << 10) + 64;

// Called about twenty times a second by who waits; what it throws ends the wait and the group.
// Null: nobody. For the bindings, which look for Ctrl-C.
ARGOSY_API void set_idle_hook(void (*hook)());

// The memory of a group: what its ranks show each other, and how they wait.
//
// A collective is a series of *steps*, numbered through the life of the group. In a step each rank
// writes into its window, says so (`show`), and waits until all have (`all_shown`); then it may
// read the others' windows. There are two windows a rank, used in turn: who has shown step s + 1
// has read what it wanted of s, and nobody writes for s + 2 before all have shown s + 1. The same
// holds for headers, which are shown once a collective.
//
// Beside the steps there is a ring of bytes for each ordered pair of ranks (Exchange).
//
// The first failure is written into the board and is final: each wait of each rank ends with it.
//
// Threads: those of one rank use steps one at a time (ProcessGroup sees to it); `fail`, `check` and
// what is Exchange's may be called by any.
class Board {
 public:
  // ranks: the members' numbers among all. offset: where in the engine's memory.
  Board(std::shared_ptr<Engine> engine, uint32_t number, std::vector<int> ranks, int rank,
        uint64_t offset, std::shared_ptr<Board> world);
  ~Board();
  static uint64_t bytes_for(size_t ranks);

  uint32_t number() const { return number_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks() const { return ranks_; }
  Engine& engine() const { return *engine_; }

  // The next step's number, of this rank.
  uint32_t step() const { return step_; }
  char* window(int rank, uint32_t step) const;
  Header& header(int rank, uint64_t sequence) const;

  void show();  // the step that step() says; the next one begins
  // Waits for a step that was shown. `what` is for the text of a timeout.
  void all_shown(uint32_t step, const Header& what, Clock::time_point until, double seconds);

  // The ring from rank `from` to rank `to`.
  struct Ring {
    alignas(64) std::atomic<uint64_t> written;
    alignas(64) std::atomic<uint64_t> read;
    alignas(64) char data[kRing];
  };
  Ring& ring(int from, int to) const;
  // A rank's bell rings when something happens to one of its rings.
  uint32_t bell(int rank) const;
  void ring_bell(int rank);
  // Sleeps until this rank's bell is no longer `seen`, at most a twentieth of a second.
  void listen(uint32_t seen);

  // Throws what the group failed by, if it has.
  void check() const;
  bool failed() const;
  // Posts a failure unless there is one, wakes everybody, and throws the first.
  [[noreturn]] void fail(Failure failure, const std::string& text);
  // The same without throwing.
  void post(Failure failure, const std::string& text) noexcept;
  // This rank takes part in nothing any more; who waits for it fails. What it has shown stays.
  void leave() noexcept;
  bool left(int rank) const;
  // What failures of other ranks may be explained by: the world's first one.
  std::string cause() const;

 private:
  struct Line;
  struct Shared;
  Line& line(int rank) const;
  void wake_all() noexcept;
  bool shown(int rank, uint32_t step) const;
  void wait_for(int rank, uint32_t step, const Header& what, Clock::time_point until,
                double seconds);
  [[noreturn]] void fail_waiting(Failure failure, uint32_t step, const Header& what,
                                 double seconds);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<char> memory_;
  Shared* shared_;
  const uint32_t number_;
  const std::vector<int> ranks_;
  const int rank_;
  uint32_t step_ = 0;
  const std::shared_ptr<Board> world_;  // null: this is it
};

// Calls the idle hook.
void idle();

// The last sentence of a failure's text.
const char* remedy(Failure failure);

}  // namespace argosy::comm
