#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/comm/local_socket.h"

// TCP sockets, of IPv4 and IPv6. Errors are CommError(connection) whose text begins with `what`.
namespace argosy::comm::net {

struct Address {
  std::string host;
  int port = 0;
};
// "host:port", "[::1]:port". Throws.
ARGOSY_API Address parse_address(const std::string& text);
ARGOSY_API std::string print_address(const Address& address);

// Listens at a host's address, or at all of this one's if it is empty; port 0: a free one.
ARGOSY_API Fd listen_tcp(const Address& at);
int port_of(const Fd& socket);
// Empty if nobody came before `until`.
Fd accept_tcp(const Fd& listener, Clock::time_point until);
// Tries again until somebody listens there; empty if nobody did before `until`.
ARGOSY_API Fd connect_tcp(const Address& to, Clock::time_point until);
// Its connection ends when the other host has not answered for so long. A process there that is
// stopped does not matter: its host answers.
void end_when_unreachable(const Fd& socket, std::chrono::seconds limit);
// The address of this end: by which the other one reaches this host.
ARGOSY_API std::string own_host(const Fd& socket);
// The address of a network interface (ARGOSY_SOCKET_IFNAME: the first that is there of a list with
// commas). Throws where there is none.
ARGOSY_API std::string host_of_interface(const std::string& names);

// All of it, or false: the other end has gone, or `until` has come.
ARGOSY_API bool send_all(const Fd& socket, const void* data, size_t bytes, Clock::time_point until);
ARGOSY_API bool receive_all(const Fd& socket, void* data, size_t bytes, Clock::time_point until);
// Whether it can be read before `until`.
bool wait_readable(const Fd& socket, Clock::time_point until);

}  // namespace argosy::comm::net
