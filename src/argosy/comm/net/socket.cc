#include "argosy/comm/net/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>
#include <thread>

#include "argosy/comm/channel.h"

namespace argosy::comm::net {

namespace {

constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kRetry{10};

[[noreturn]] void fail(const Message& m) {
  throw CommError(Failure::connection, m);
}

using Infos = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Null where the name means nothing now.
Infos resolve(const Address& address, bool passive) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  addrinfo* out = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints,
                  &out))
    out = nullptr;
  return {out, freeaddrinfo};
}

std::string host_of(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  if (getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST)) return "";
  // An IPv4 address as IPv6 sockets show it.
  const std::string text = host;
  return text.rfind("::ffff:", 0) == 0 ? text.substr(7) : text;
}

void set_option(const Fd& fd, int level, int name, int value) {
  setsockopt(fd.get(), level, name, &value, sizeof value);
}

int milliseconds_until(Clock::time_point until) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 50));
}

bool wait_for(const Fd& fd, short events, Clock::time_point until) {
  for (;;) {
    pollfd p{fd.get(), events, 0};
    const int n = poll(&p, 1, milliseconds_until(until));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (Clock::now() >= until) return false;
    idle();
  }
}

// Where nobody listens at a port that the system may also give to callers, a caller can reach
// itself: it would hold the port against who is to listen there.
bool reaches_itself(const Fd& fd) {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  return !getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &own_size) &&
         !getpeername(fd.get(), reinterpret_cast<sockaddr*>(&other), &other_size) &&
         own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

Fd try_to_connect(const addrinfo& info, Clock::time_point until) {
  Fd fd(socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_REUSEADDR,
             1);  // its own port may be one where somebody is to listen
  if (connect(fd.get(), info.ai_addr, info.ai_addrlen) && errno != EINPROGRESS) return Fd();
  if (!wait_for(fd, POLLOUT, until)) return Fd();
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) || error) return Fd();
  return reaches_itself(fd) ? Fd() : std::move(fd);
}

}  // namespace

Address parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  Address out;
  const std::string port = colon == text.npos ? "" : text.substr(colon + 1);
  if (!port.empty() && port.size() < 6 && port.find_first_not_of("0123456789") == port.npos) {
    out.port = std::stoi(port);
    out.host = text.substr(0, colon);
  }
  if (out.host.size() > 1 && out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  if (out.host.empty() || out.port > 65535)
    fail(Message() << "[init_parallel_env] expected an address HOST:PORT, got '" << text
                   << "'. Do this: set PADDLE_MASTER to a host and a free port of it.");
  return out;
}

std::string print_address(const Address& address) {
  Message m;
  const bool six = address.host.find(':') != std::string::npos;
  m << (six ? "[" : "") << address.host << (six ? "]:" : ":") << address.port;
  return m.str();
}

Fd listen_tcp(const Address& at) {
  const Infos infos = resolve(at, true);
  // One IPv6 socket takes both kinds; where there is no IPv6, one of IPv4.
  for (const int family : {AF_INET6, AF_INET})
    for (const addrinfo* i = infos.get(); i; i = i->ai_next) {
      if (i->ai_family != family) continue;
      Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!fd) continue;
      set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
      if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
      if (!bind(fd.get(), i->ai_addr, i->ai_addrlen) && !listen(fd.get(), kBacklog)) return fd;
    }
  return Fd();
}

int port_of(const Fd& socket) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&a), &size)) return 0;
  return ntohs(a.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&a)->sin6_port
                                       : reinterpret_cast<sockaddr_in*>(&a)->sin_port);
}

Fd accept_tcp(const Fd& listener, Clock::time_point until) {
  for (;;) {
    Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
      return fd;
    }
    if (!wait_for(listener, POLLIN, until)) return Fd();
  }
}

Fd connect_tcp(const Address& to, Clock::time_point until) {
  for (;;) {
    const Infos infos = resolve(to, false);
    for (const addrinfo* i = infos.get(); i; i = i->ai_next)
      if (Fd fd = try_to_connect(*i, until); fd) return fd;
    if (Clock::now() >= until) return Fd();
    std::this_thread::sleep_for(kRetry);
    idle();
  }
}

void end_when_unreachable(const Fd& socket, std::chrono::seconds limit) {
  const auto seconds = static_cast<int>(limit.count());
  constexpr int kProbes = 4;
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 2));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 2 / kProbes));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);  // of what was sent
}

std::string own_host(const Fd& socket) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&a), &size)) return "";
  return host_of(reinterpret_cast<sockaddr*>(&a), size);
}

std::string host_of_interface(const std::string& names) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all)) all = nullptr;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  std::stringstream list(names);
  std::string there;
  for (std::string name; std::getline(list, name, ',');)
    for (const int family : {AF_INET, AF_INET6})
      for (const ifaddrs* i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || name != i->ifa_name) continue;
        return host_of(i->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      }
  for (const ifaddrs* i = all; i; i = i->ifa_next)
    if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
      there += (there.empty() ? "" : ", ") + std::string(i->ifa_name);
  fail(Message() << "[init_parallel_env] ARGOSY_SOCKET_IFNAME: expected a network interface of this"
                    " host that has an address ("
                 << there << "), got '" << names << "'. Do this: name one of these.");
}

bool wait_readable(const Fd& socket, Clock::time_point until) {
  return wait_for(socket, POLLIN, until);
}

bool send_all(const Fd& socket, const void* data, size_t bytes, Clock::time_point until) {
  const char* p = static_cast<const char*>(data);
  while (bytes) {
    const ssize_t n = send(socket.get(), p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      p += n;
      bytes -= static_cast<size_t>(n);
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for(socket, POLLOUT, until))) {
      return false;
    }
  }
  return true;
}

bool receive_all(const Fd& socket, void* data, size_t bytes, Clock::time_point until) {
  char* p = static_cast<char*>(data);
  while (bytes) {
    const ssize_t n = recv(socket.get(), p, bytes, MSG_DONTWAIT);
    if (n == 0) return false;
    if (n > 0) {
      p += n;
      bytes -= static_cast<size_t>(n);
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for(socket, POLLIN, until))) {
      return false;
    }
  }
  return true;
}

}  // namespace argosy::comm::net
