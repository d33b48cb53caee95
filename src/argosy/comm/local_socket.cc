#include "argosy/comm/local_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace argosy::comm {

namespace {

constexpr size_t kMostFds = 250;  // the kernel takes 253

// The name's length belongs to an abstract address, so nothing ends it.
socklen_t address_of(const std::string& name, sockaddr_un* out) {
  std::memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  const size_t n = std::min(name.size(), sizeof out->sun_path - 1);
  std::memcpy(out->sun_path + 1, name.data(), n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

Fd new_socket() {
  return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

bool wait_readable(const Fd& fd, Clock::time_point until) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd p{fd.get(), POLLIN, 0};
    const int n = poll(&p, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (left <= 0) return false;
  }
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Fd listen_at(const std::string& name) {
  Fd fd = new_socket();
  sockaddr_un address;
  const socklen_t size = address_of(name, &address);
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) ||
      listen(fd.get(), kMostFds))
    return Fd();
  return fd;
}

Fd accept_from(const Fd& listener, Clock::time_point until) {
  if (!wait_readable(listener, until)) return Fd();
  return Fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

Fd connect_to(const std::string& name) {
  Fd fd = new_socket();
  sockaddr_un address;
  const socklen_t size = address_of(name, &address);
  if (!fd || connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size)) return Fd();
  return fd;
}

bool send_message(const Fd& socket, std::span<const char> message, std::span<const int> fds) {
  if (fds.size() > kMostFds) return false;
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  if (!fds.empty()) {
    m.msg_control = control;
    m.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
  }
  return sendmsg(socket.get(), &m, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

bool receive_message(const Fd& socket, std::span<char> message, std::vector<Fd>* fds,
                     Clock::time_point until) {
  if (!wait_readable(socket, until)) return false;
  iovec part{message.data(), message.size()};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(socket.get(), &m, MSG_CMSG_CLOEXEC);
  for (cmsghdr* c = n > 0 ? CMSG_FIRSTHDR(&m) : nullptr; c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      Fd owned(fd);
      if (fds) fds->push_back(std::move(owned));
    }
  }
  return n == static_cast<ssize_t>(message.size()) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

bool same_user(const Fd& socket) {
  ucred peer;
  socklen_t size = sizeof peer;
  return !getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}

}  // namespace argosy::comm
