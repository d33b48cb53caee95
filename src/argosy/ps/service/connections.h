#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace argosy::ps {

// Listens, and hands connections on, up to a number of them at once, and up to what leaves the
// process file descriptors for other things; more are closed as they come. (gRPC by itself takes
// connections without limit, and when the process runs out of file descriptors it stops listening
// for good.)
class Connections {
 public:
  using Take = std::function<void(int listener, int fd)>;  // then the connection is its own

  // Binds host:port; port 0 takes a free one. Throws ErrorKind::io.
  Connections(const std::string& endpoint, uint32_t most);
  ~Connections();
  int port() const { return port_; }
  // Hands on from now.
  void open(Take take);
  // No more from now; those that were handed on go on.
  void close();

 private:
  void accept_all(int listener);
  void run();
  bool room();

  const uint32_t most_;
  int port_ = 0;
  std::vector<int> listeners_;
  int wake_[2] = {-1, -1};  // a pipe whose end wakes the thread
  Take take_;
  std::thread thread_;
  std::chrono::steady_clock::time_point told_{};  // of connections that were refused
  // Handed on. One whose number is another file by now has been closed.
  std::vector<std::pair<int, ino_t>> taken_;
};

}  // namespace argosy::ps
