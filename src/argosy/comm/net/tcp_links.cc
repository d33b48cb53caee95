#include "argosy/comm/net/tcp_links.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace argosy::comm::net {

namespace {

// Of messages: as much as is sent before anybody receives it. Collectives leave the size of
// buffers to the kernel, which fits it to the link.
constexpr int kMessageBuffer = 256 << 10;

// Who awaits more sleeps until so much has come: each time that it wakes takes the processor from
// who computes.
constexpr size_t kAtOnce = size_t{64} << 10;

msghdr message_of(std::span<const iovec> spans) {
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(spans.data());
  m.msg_iovlen = spans.size();
  return m;
}

}  // namespace

TcpLinks::TcpLinks(std::array<std::vector<Fd>, kLanes> sockets) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    Side& s = sides_[lane];
    s.wake = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    s.streams = std::vector<Stream>(sockets[lane].size());
    for (size_t i = 0; i < s.streams.size(); ++i) {
      s.streams[i].socket = std::move(sockets[lane][i]);
      if (static_cast<Lane>(lane) == Lane::message && s.streams[i].socket)
        setsockopt(s.streams[i].socket.get(), SOL_SOCKET, SO_SNDBUF, &kMessageBuffer,
                   sizeof kMessageBuffer);
    }
  }
}

void TcpLinks::Stream::wake_at(size_t bytes) {
  const int wanted = static_cast<int>(bytes);
  if (wanted == wakes_at) return;
  if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted) == 0)
    wakes_at = wanted;
}

size_t TcpLinks::put(Lane lane, int peer, std::span<const iovec> from) {
  Stream& s = stream(lane, peer);
  if (s.broken) return 0;
  const msghdr m = message_of(from);
  const ssize_t n = sendmsg(s.socket.get(), &m, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return static_cast<size_t>(n);
  if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) s.broken = true;
  return 0;
}

size_t TcpLinks::get(Lane lane, int peer, std::span<const iovec> to) {
  Stream& s = stream(lane, peer);
  if (s.ended) return 0;
  msghdr m = message_of(to);
  const ssize_t n = recvmsg(s.socket.get(), &m, MSG_DONTWAIT);
  if (n > 0) return static_cast<size_t>(n);
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) s.ended = true;
  return 0;
}

bool TcpLinks::ended(Lane lane, int peer) const {
  const Stream& s = sides_[static_cast<size_t>(lane)].streams[static_cast<size_t>(peer)];
  return s.ended || s.broken;
}

void TcpLinks::wait(Lane lane, std::span<const Channel::Wish> wishes,
                    std::chrono::milliseconds limit) {
  Side& here = side(lane);
  here.polled.clear();
  here.polled.push_back({here.wake.get(), POLLIN, 0});
  for (const Channel::Wish& w : wishes) {
    Stream& s = here.streams[static_cast<size_t>(w.peer)];
    // One that has ended would be ready for ever.
    if (w.put ? s.broken.load() : s.ended.load()) continue;
    if (!w.put) s.wake_at(std::clamp<size_t>(w.bytes, 1, kAtOnce));
    here.polled.push_back({s.socket.get(), static_cast<short>(w.put ? POLLOUT : POLLIN), 0});
  }
  poll(here.polled.data(), here.polled.size(), static_cast<int>(limit.count()));
  uint64_t count;
  if (here.polled[0].revents && read(here.wake.get(), &count, sizeof count) < 0) return;
}

void TcpLinks::wake(Lane lane) {
  const uint64_t one = 1;
  if (write(side(lane).wake.get(), &one, sizeof one) < 0) return;  // it is awake
}

}  // namespace argosy::comm::net
