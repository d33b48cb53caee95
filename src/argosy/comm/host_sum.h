#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "argosy/comm/in_place.h"

namespace argosy::comm {

// What the ranks of one host do in an all_reduce of several hosts, beside its exchange between
// hosts.
//
// The bytes have as many shares as a host has *carriers*: its first ranks, equally many on each
// host. What the ranks of a host have of a share is reduced to its carrier's (`reduce`); that is
// exchanged with the carriers of the same place on other hosts; the result becomes all ranks'
// (`spread`). Shares are worked on by stretches, [begin, begin + bytes) of each. What all ranks of
// the host see is reduced and written where it lies, by the carrier alone; the rest goes through
// windows, by steps that all ranks of the host take.
//
// All ranks of a host make the same calls.
class ARGOSY_API HostSum {
 public:
  // Takes a step. host: null where this rank is alone. meanwhile: see Job, null: nothing. turn: of
  // the host's collectives. REQUIRES: job and turn outlive it.
  HostSum(Board* host, const Job& job, size_t carriers, int ranks, uint64_t* turn,
          std::function<bool()> meanwhile);

  size_t share() const { return share_; }
  // This rank's; empty if it is no carrier.
  Pieces own() const { return cut(job_.receive[0], me_, 0, share_); }
  // By which shares are reduced and exchanged: of an average, the sum, which spread() divides.
  Reduce op() const { return average() ? Reduce::sum : job_.header.op; }

  void reduce(size_t begin, size_t bytes);
  void spread(size_t begin, size_t bytes);
  // Takes a step, after which nobody writes to this rank's tensors.
  void finish();

 private:
  struct Range {
    size_t begin, bytes;
  };
  bool average() const { return job_.header.op == Reduce::avg; }
  // Of the share of rank r, as far as there is any.
  Range range(size_t r, size_t begin, size_t bytes) const;
  Pieces cut(const Pieces& pieces, size_t r, size_t begin, size_t bytes) const;
  // The same of what goes through windows, and the longest of these, the same on all ranks.
  Pieces cut_hidden(const Pieces& pieces, size_t r, size_t begin, size_t bytes) const;
  size_t longest_hidden(size_t begin, size_t bytes) const;
  void divide(const Pieces& pieces) const;  // of an average
  // Of the host's ranks. Shown as what was called: so ranks that differ are told what they called.
  Job part(Kind kind, size_t bytes) const;
  void run(Job part);

  Board* const host_;
  const Job& job_;
  const int ranks_;
  uint64_t* const turn_;
  const std::function<bool()> meanwhile_;
  const size_t here_, me_, carriers_, item_, share_;
  Job shown_;
  std::optional<Steps> steps_;
  std::optional<InPlace> seen_;
};

}  // namespace argosy::comm
