#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <vector>

#include "argosy/comm/links.h"
#include "argosy/comm/local_socket.h"

namespace argosy::comm::net {

// Links that are TCP connections, one for each lane and peer.
class TcpLinks final : public Links {
 public:
  // sockets[lane][peer]; none for this rank itself.
  explicit TcpLinks(std::array<std::vector<Fd>, kLanes> sockets);

  size_t put(Lane lane, int peer, std::span<const iovec> from) override;
  size_t get(Lane lane, int peer, std::span<const iovec> to) override;
  bool ended(Lane lane, int peer) const override;
  void wait(Lane lane, std::span<const Channel::Wish> wishes,
            std::chrono::milliseconds limit) override;
  void wake(Lane lane) override;

 private:
  struct Stream {
    Fd socket;
    std::atomic<bool> ended{false};   // the other end's
    std::atomic<bool> broken{false};  // nothing can be sent any more
    int wakes_at = 1;                 // as many bytes: who waits does not wake before
    void wake_at(size_t bytes);
  };
  // What one thread at a time uses.
  struct Side {
    std::vector<Stream> streams;
    Fd wake;
    std::vector<pollfd> polled;
  };
  Side& side(Lane lane) { return sides_[static_cast<size_t>(lane)]; }
  Stream& stream(Lane lane, int peer) { return side(lane).streams[static_cast<size_t>(peer)]; }

  std::array<Side, kLanes> sides_;
};

}  // namespace argosy::comm::net
