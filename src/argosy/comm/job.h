#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "argosy/comm/header.h"
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
  // A part of a collective: the header of the whole, which ranks compare and texts name, and the
  // part's number among those of its board.
  const Header* shown = nullptr;
  std::optional<uint64_t> turn;
  // Called again and again while ranks of its board are waited for; says whether it did anything.
  std::function<bool()> meanwhile;

  const Header& compared() const { return shown ? *shown : header; }

  size_t bytes() const { return header.count * static_cast<size_t>(item_size(header.dtype)); }
};

inline std::chrono::nanoseconds limit_of(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1e9));
}

}  // namespace argosy::comm
