#pragma once

#include <vector>

#include "argosy/comm/board.h"
#include "argosy/comm/pieces.h"

namespace argosy::comm {

// A collective that a rank takes part in: its header, and contiguous memory.
struct Job {
  Header header;
  // What this rank shows: one entry for each member that gets something else (reduce_scatter,
  // alltoall; scatter: at the root), otherwise one for all; empty where it shows nothing.
  std::vector<Pieces> send;
  // What it gets: one entry for each member whose data it gets (gathers, alltoall), otherwise one.
  std::vector<Pieces> receive;
  double seconds = 300;  // most to wait for a rank, in each step
};

// Runs it, with the same steps on every rank. Throws CommError: the group has failed then.
// REQUIRES: sizes agree with header.count where that says them (ProcessGroup checks).
void run(Board& board, const Job& job);

}  // namespace argosy::comm
