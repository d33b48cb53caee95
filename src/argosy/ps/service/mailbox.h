#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/service/message.h"
#include "argosy/ps/service/server_steps.h"

namespace argosy::ps {

// Bytes from worker to worker, in pieces, by way of the servers. A worker's box is on server
// worker % servers. Pieces of a sender are numbered from 0, an empty one is the last; who posts or
// collects one again after a lost answer finds out by its number, so none is lost or double. Boxes
// are of one round: all workers must have all of it before the next one begins (client_exchange.cc
// sees to that by barriers). A box takes its share of `max_bytes`; then posting has to wait.
class ARGOSY_API Mailbox {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kPiece = size_t{1} << 20;           // bytes at most
  static constexpr size_t kAnswer = size_t{4} << 20;          // of pieces, unless one is larger
  static constexpr size_t kPieceHead = 2 * sizeof(uint64_t);  // sender, number
  struct Collected {
    Failure failure;
    std::vector<std::string> pieces;  // each after its head
  };
  using Done = std::function<void(Collected)>;

  Mailbox(uint32_t index, uint32_t servers, uint32_t workers, uint64_t max_bytes);

  // Piece header.step for worker header.table. *taken: false if the box is full.
  Failure post(const Header& header, Bytes piece, bool* taken);
  // What the box of header.worker has beyond `counts` pieces of each worker; those before are not
  // asked for again. Calls `done` once: when there is something, or without anything when
  // patience is over.
  void collect(const Header& header, std::span<const uint64_t> counts, const Patience& patience,
               Done done);
  // Lets go who waited long enough; all of them if `leaving`.
  void tick(Clock::time_point now, bool leaving);
  uint64_t bytes() const;

 private:
  struct Stream {
    uint64_t first = 0;  // number of pieces.front()
    std::deque<Bytes> pieces;
    bool ended = false;
    uint64_t next() const { return first + pieces.size(); }
  };
  struct Box {
    uint64_t round = 0, bytes = 0;
    std::vector<Stream> streams;  // by sender
    Meeting waiting;
  };
  Box* find(uint32_t worker) ARGOSY_REQUIRES(mutex_);
  // False: the box is of a later round already.
  bool enter(Box* box, uint64_t round);
  Failure take(const Header& header, const std::vector<uint64_t>& counts,
               std::vector<std::string>* pieces) ARGOSY_REQUIRES(mutex_);

  const uint32_t index_, servers_, workers_;
  const uint64_t share_;
  mutable Mutex mutex_;
  std::map<uint32_t, Box> boxes_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::ps
