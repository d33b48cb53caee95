#include "argosy/ps/service/connections.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::ps {
namespace {

std::optional<ino_t> file_of(int fd) {
  struct stat s;
  if (::fstat(fd, &s)) return std::nullopt;
  return s.st_ino;
}

void set(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof(on));
}

// -1 with errno.
int bound(const addrinfo& a, int port) {
  sockaddr_storage address = {};
  std::memcpy(&address, a.ai_addr, a.ai_addrlen);
  const in_port_t number = htons(static_cast<uint16_t>(port));
  if (a.ai_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = number;
  const int fd = ::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fd;
  set(fd, SOL_SOCKET, SO_REUSEADDR);
  set(fd, IPPROTO_TCP, TCP_NODELAY);  // connections have it from here
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), a.ai_addrlen) == 0 &&
      ::listen(fd, SOMAXCONN) == 0)
    return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

int port_of(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// Some are left for logs, snapshots and tables on disk.
uint32_t most_files() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > UINT32_MAX) return UINT32_MAX;
  const auto all = static_cast<uint32_t>(limit.rlim_cur);
  return std::max(all / 2, all - std::min(all, 256u));
}

}  // namespace

Connections::Connections(const std::string& endpoint, uint32_t most)
    : most_(std::min(most, most_files())) {
  const size_t colon = endpoint.rfind(':');
  std::string host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const auto fail = [&](const std::string& why) {
    close();
    ARGOSY_THROW(io)
        << "[parameter_server] cannot listen on " << endpoint << " (" << why
        << "): the port is taken, or the host is not of this machine. Do this: see who "
           "has the port (ss -ltnp), or choose port 0 for a free one.";
  };
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const int unknown = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (unknown) fail(::gai_strerror(unknown));
  int error = 0;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
    const bool any = port == "0";
    const int fd = bound(*a, any ? port_ : std::stoi(port));
    if (fd >= 0) {
      listeners_.push_back(fd);
      port_ = port_of(fd);
    } else if (!error || errno == EADDRINUSE) {
      error = errno;
    }
  }
  ::freeaddrinfo(found);
  if (listeners_.empty() || (error == EADDRINUSE && port != "0")) fail(std::strerror(error));
  if (::pipe2(wake_, O_CLOEXEC)) fail(std::strerror(errno));
}

Connections::~Connections() {
  close();
}

void Connections::open(Take take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { run(); });
}

void Connections::close() {
  if (wake_[1] >= 0) ::close(std::exchange(wake_[1], -1));
  if (thread_.joinable()) thread_.join();
  if (wake_[0] >= 0) ::close(std::exchange(wake_[0], -1));
  for (const int fd : listeners_) {
    ::shutdown(fd, SHUT_RDWR);  // for forked children that have it too
    ::close(fd);
  }
  listeners_.clear();
}

bool Connections::room() {
  if (taken_.size() >= most_)
    std::erase_if(taken_, [](const auto& one) { return file_of(one.first) != one.second; });
  return taken_.size() < most_;
}

void Connections::accept_all(int listener) {
  while (true) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      // Out of descriptors or memory: the others wait in the queue of the system.
      ARGOSY_LOG(warning) << "[parameter_server] port " << port_
                          << ": cannot take a connection: " << std::strerror(errno) << '.';
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return;
    }
    const std::optional<ino_t> file = file_of(fd);
    if (!file || !room()) {
      ::close(fd);
      const auto now = std::chrono::steady_clock::now();
      if (now - told_ < std::chrono::seconds(60)) continue;
      told_ = now;
      ARGOSY_LOG(warning) << "[parameter_server] port " << port_ << " has " << most_
                          << " connections, and takes no more (max_connections, ulimit -n).";
      continue;
    }
    set(fd, IPPROTO_TCP, TCP_NODELAY);
    taken_.emplace_back(fd, *file);
    take_(listener, fd);
  }
}

void Connections::run() {
  std::vector<pollfd> watched;
  for (const int fd : listeners_) watched.push_back({fd, POLLIN, 0});
  watched.push_back({wake_[0], POLLIN, 0});
  while (true) {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    if (watched.back().revents) return;
    for (size_t i = 0; i + 1 < watched.size(); ++i)
      if (watched[i].revents) accept_all(watched[i].fd);
  }
}

}  // namespace argosy::ps
