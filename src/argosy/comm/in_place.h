#pragma once

#include <vector>

#include "argosy/comm/steps.h"

namespace argosy::comm {

// An all_reduce of tensors that all ranks of a board see (Engine::tensors), where they are.
//
// In a step the ranks show each other where their tensors lie. Each then reduces its share of what
// all see, in the order of ranks, and writes the result to all of them; nobody goes on before all
// have, which is what the next step says. A rank is the only one that touches its share meanwhile.
class InPlace {
 public:
  // Smaller tensors are seen by nobody (memory::allocate_shared).
  static constexpr size_t kLeast = size_t{64} << 10;

  // Takes a step. REQUIRES: one entry each in job.send and job.receive.
  InPlace(Board& board, Steps& steps, const Job& job);

  // Of this rank's share. The caller takes another step.
  void reduce() const;
  // The same collective of what not all ranks see; empty if they see all.
  Job rest() const;

 private:
  // A part of the tensors, for each rank.
  struct Stretch {
    std::vector<char*> at;
    size_t bytes;
  };
  void show_own(Steps& steps) const;
  void find_seen(const Steps& steps);

  Board& board_;
  const Job& job_;
  std::vector<Stretch> seen_;
  Pieces rest_;  // of this rank
  Pieces rest_sent_;
};

}  // namespace argosy::comm
