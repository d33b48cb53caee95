#pragma once

#include <vector>

#include "argosy/comm/steps.h"

namespace argosy::comm {

// An all_reduce of tensors that all ranks of a board see (Engine::tensors), where they are.
//
// In a step the ranks show each other where their tensors lie. Each then reduces its share of what
// all see, in the order of ranks, and writes the result to all of them; nobody goes on before all
// have, which is what the next step says. A rank is the only one that touches its share meanwhile.
//
// The same in two halves, between which a share may be exchanged with other hosts: `gather` and
// `spread`, of any bytes that no other rank touches meanwhile.
class InPlace {
 public:
  // Smaller tensors are seen by nobody (memory::allocate_shared).
  static constexpr size_t kLeast = size_t{64} << 10;

  // Takes a step. REQUIRES: one entry each in job.send and job.receive; job outlives it.
  InPlace(Board& board, Steps& steps, const Job& job);

  // Of this rank's share. The caller takes another step.
  void reduce() const;
  // The same collective of what not all ranks see; empty if they see all.
  Job rest() const;

  // Of [begin, begin + bytes), as far as all ranks see it: what they have becomes this rank's by
  // `op`; then this rank's, divided by `divisor` unless that is 0, becomes all others'.
  void gather(size_t begin, size_t bytes, Reduce op) const;
  void spread(size_t begin, size_t bytes, int divisor) const;
  // How much of it not all ranks see, the same for all of them, and where that is in `pieces`.
  size_t hidden_bytes(size_t begin, size_t bytes) const;
  Pieces hidden(const Pieces& pieces, size_t begin, size_t bytes) const;

 private:
  // A part of the tensors: where each rank has it, or nowhere where not all see it.
  struct Stretch {
    std::vector<char*> at;
    size_t begin, bytes;
  };
  // use(stretch, offset in it, bytes): in portions that stay in the nearest cache.
  template <class Use>
  void each_seen(size_t begin, size_t bytes, Use&& use) const;
  // use(begin, bytes) of what is hidden.
  template <class Use>
  void each_hidden(size_t begin, size_t bytes, Use&& use) const;
  void show_own(Steps& steps) const;
  void find_seen(const Steps& steps);

  Board& board_;
  const Job& job_;
  std::vector<Stretch> stretches_;
};

}  // namespace argosy::comm
