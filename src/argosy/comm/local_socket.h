#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/export.h"

// Abstract sockets of Linux that carry messages and descriptors between processes of one user.
namespace argosy::comm {

using Clock = std::chrono::steady_clock;

// A descriptor that is closed with its owner.
class ARGOSY_API Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  Fd& operator=(Fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// All return an empty Fd or false where the peer is not there, has ended, or `until` has come.
Fd listen_at(const std::string& name);  // also where the name is taken
Fd accept_from(const Fd& listener, Clock::time_point until);
Fd connect_to(const std::string& name);
bool send_message(const Fd& socket, std::span<const char> message, std::span<const int> fds);
// A message of exactly message.size() bytes.
bool receive_message(const Fd& socket, std::span<char> message, std::vector<Fd>* fds,
                     Clock::time_point until);
// Whether the process at the other end has this process's user.
bool same_user(const Fd& socket);

}  // namespace argosy::comm
