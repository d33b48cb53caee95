#pragma once

#include <algorithm>
#include <cstddef>

#include "argosy/comm/combine.h"
#include "argosy/comm/job.h"
#include "argosy/comm/mesh.h"

namespace argosy::comm {

// Of one rank's share, exchanged at a time: what is reduced is in the cache still.
inline constexpr size_t kShare = size_t{256} << 10;

inline size_t item_of(const Job& job) {
  return static_cast<size_t>(item_size(job.header.dtype));
}

// How a stretch of bytes is shared among ranks.
struct Shares {
  size_t begin, bytes, share;
  Shares(size_t begin, size_t bytes, size_t item, int ranks) : begin(begin), bytes(bytes) {
    const auto n = static_cast<size_t>(ranks);
    share = (bytes / item + n - 1) / n * item;
  }
  size_t at(int r) const { return begin + std::min(bytes, share * static_cast<size_t>(r)); }
  size_t length(int r) const { return at(r + 1) - at(r); }
};

// The others, beginning behind this rank: so not all begin with the same one.
template <class F>
void each_other(const Mesh& mesh, F&& f) {
  for (int k = 1; k < mesh.size(); ++k) f((mesh.rank() + k) % mesh.size());
}

}  // namespace argosy::comm
