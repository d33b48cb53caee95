#include "argosy/comm/shm_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "argosy/comm/error.h"
#include "argosy/comm/local_socket.h"

namespace argosy::comm {

namespace {

constexpr uint64_t kMagic = 0x3130797367726141;  // changes with what is said below
constexpr int kMostRanks = 200;                  // descriptors in one message
constexpr const char* kRemedy =
    " Do this: start all ranks by `argosy launch`, or with the same PADDLE_TRAINERS_NUM, "
    "PADDLE_MASTER"
    " (or PADDLE_TRAINER_ENDPOINTS) and another PADDLE_TRAINER_ID each.";

struct Hello {
  uint64_t magic = kMagic;
  int32_t rank = 0;
  int32_t size = 0;
  char host[112] = {};
  char token[112] = {};
};

struct Welcome {
  uint64_t magic = kMagic;
  uint32_t refused = 0;
  char text[500] = {};  // why
};

template <class T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

template <size_t N>
void put_text(char (&target)[N], const std::string& text) {
  std::memcpy(target, text.data(), std::min(text.size(), N - 1));
}

[[noreturn]] void fail(const Message& m) {
  throw CommError(Failure::connection, m);
}

class ShmEngine final : public Engine {
 public:
  ShmEngine(int rank, Fd memory, std::vector<Fd> lives)
      : rank_(rank), memory_(std::move(memory)), lives_(std::move(lives)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(lives_.size()); }
  const char* name() const override { return "shm"; }

  std::shared_ptr<char> share(uint64_t offset, size_t bytes) override {
    // Ranks that ask for one area ask for the same end, and later areas are asked for later: see
    // ProcessGroup::subgroup. So this never shrinks the file.
    struct stat s;
    const auto end = static_cast<off_t>(offset + bytes);
    if (fstat(memory_.get(), &s) || (s.st_size < end && ftruncate(memory_.get(), end)))
      fail(Message() << "[shm_engine] no " << bytes
                     << " bytes of shared memory: " << std::strerror(errno) << '.');
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(),
                   static_cast<off_t>(offset));
    if (p == MAP_FAILED)
      fail(Message() << "[shm_engine] cannot map " << bytes << " bytes: " << std::strerror(errno)
                     << '.');
    return {static_cast<char*>(p), [bytes](char* q) { munmap(q, bytes); }};
  }

  bool gone(int rank) override {
    if (rank == rank_) return false;
    pollfd p{lives_[static_cast<size_t>(rank)].get(), POLLIN, 0};
    return poll(&p, 1, 0) > 0;
  }

 private:
  int rank_;
  Fd memory_;
  std::vector<Fd> lives_;  // readable, or hung up, once that process has ended
};

// A descriptor for others that tells when this process ends. Where the kernel has no pidfd it is a
// pipe, whose other end closes with this process and those that it has forked.
Fd life_of_this_process() {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (fd) return fd;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) fail(Message() << "[shm_engine] no pipe: " << std::strerror(errno));
  return Fd(ends[0]);  // ends[1] stays open until the end
}

std::string missing(const std::vector<Fd>& sockets) {
  Message m;
  for (size_t r = 1; r < sockets.size(); ++r)
    if (!sockets[r]) m << (m.str().empty() ? "" : ", ") << static_cast<int>(r);
  return m.str();
}

// What is wrong with who says hello; empty if nothing.
std::string objection(const ShmOptions& o, const Hello& h, const std::vector<Fd>& sockets) {
  Message m;
  if (h.size != o.size)
    m << "rank 0 is one of " << o.size << " ranks, rank " << h.rank << " one of " << h.size;
  else if (h.rank < 1 || h.rank >= o.size || sockets[static_cast<size_t>(h.rank)])
    m << "two processes are rank " << h.rank << " of " << o.size;
  else if (o.host != h.host)
    m << "ranks 0 and " << h.rank << " are on several hosts (" << o.host << ", " << h.host
      << "), and share no memory";
  return m.str();
}

// Rank 0: collects the others, then gives all of them the memory and everybody's life.
std::shared_ptr<Engine> host_ranks(const ShmOptions& o, Clock::time_point until) {
  Fd listener;
  while (!(listener = listen_at(o.name))) {
    if (Clock::now() > until)
      fail(
          Message() << "[init_parallel_env] another job of this host uses the address of this one ("
                    << o.name << ")." << kRemedy);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto n = static_cast<size_t>(o.size);
  std::vector<Fd> sockets(n), lives(n);
  lives[0] = life_of_this_process();
  Welcome no;
  no.refused = 1;
  for (int left = o.size - 1; left > 0;) {
    Fd socket = accept_from(listener, until);
    if (!socket && Clock::now() >= until)
      fail(Message() << "[init_parallel_env] expected " << o.size << " ranks, but ranks "
                     << missing(sockets) << " have not come within " << o.seconds << " s."
                     << kRemedy);
    Hello hello;
    std::vector<Fd> fds;
    const auto soon = std::min(until, Clock::now() + std::chrono::seconds(2));
    if (!socket || !same_user(socket) || !receive_message(socket, bytes_of(hello), &fds, soon) ||
        fds.size() != 1 || hello.magic != kMagic)
      continue;
    hello.host[sizeof hello.host - 1] = hello.token[sizeof hello.token - 1] = 0;
    std::string text;
    if (o.token != hello.token) {
      put_text(no.text,
               "[init_parallel_env] the process at rank 0's address belongs to another job "
               "(ARGOSY_JOB_TOKEN differs)." +
                   std::string(kRemedy));
      send_message(socket, bytes_of(no), {});
      continue;
    }
    text = objection(o, hello, sockets);
    if (!text.empty()) {
      text = "[init_parallel_env] " + text + '.' + kRemedy;
      put_text(no.text, text);
      send_message(socket, bytes_of(no), {});
      for (const Fd& s : sockets)
        if (s) send_message(s, bytes_of(no), {});
      fail(Message() << text);
    }
    const auto r = static_cast<size_t>(hello.rank);
    sockets[r] = std::move(socket);
    lives[r] = std::move(fds[0]);
    --left;
  }
  Fd memory(memfd_create("argosy-comm", MFD_CLOEXEC));
  if (!memory) fail(Message() << "[init_parallel_env] no memfd: " << std::strerror(errno) << '.');
  std::vector<int> fds{memory.get()};
  for (const Fd& life : lives) fds.push_back(life.get());
  Welcome yes;
  for (size_t r = 1; r < n; ++r)
    if (!send_message(sockets[r], bytes_of(yes), fds))
      fail(Message() << "[init_parallel_env] rank " << static_cast<int>(r)
                     << " has ended while the ranks were being connected.");
  return std::make_shared<ShmEngine>(0, std::move(memory), std::move(lives));
}

std::shared_ptr<Engine> join_ranks(const ShmOptions& o, Clock::time_point until) {
  Fd socket;
  while (!(socket = connect_to(o.name)) || !same_user(socket)) {
    if (Clock::now() > until)
      fail(Message() << "[init_parallel_env] expected rank 0 at " << o.name
                     << ", but it has not come within " << o.seconds
                     << " s; only ranks of one host are supported so far." << kRemedy);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Hello hello;
  hello.rank = o.rank;
  hello.size = o.size;
  put_text(hello.host, o.host);
  put_text(hello.token, o.token);
  const Fd life = life_of_this_process();
  const int fd = life.get();
  Welcome welcome;
  std::vector<Fd> fds;
  // Rank 0 itself gives up at its own limit, and says why: a little more patience than it has.
  const auto end = until + std::chrono::seconds(2);
  if (!send_message(socket, bytes_of(hello), {&fd, 1}) ||
      !receive_message(socket, bytes_of(welcome), &fds, end) || welcome.magic != kMagic)
    fail(Message() << "[init_parallel_env] rank 0 has "
                   << (Clock::now() < end ? "ended" : "not answered")
                   << " while the ranks were being connected: what it wrote says why." << kRemedy);
  welcome.text[sizeof welcome.text - 1] = 0;
  if (welcome.refused) fail(Message() << welcome.text);
  if (fds.size() != static_cast<size_t>(o.size) + 1)
    fail(Message() << "[init_parallel_env] rank 0 sent " << fds.size() << " descriptors.");
  Fd memory = std::move(fds[0]);
  fds.erase(fds.begin());
  return std::make_shared<ShmEngine>(o.rank, std::move(memory), std::move(fds));
}

}  // namespace

std::shared_ptr<Engine> connect_shm(const ShmOptions& o) {
  if (o.size > kMostRanks || o.rank < 0 || o.rank >= o.size)
    fail(Message() << "[init_parallel_env] expected ranks below " << kMostRanks
                   << " and below their"
                   << " number, got rank " << o.rank << " of " << o.size << '.' << kRemedy);
  if (o.token.size() >= sizeof Hello().token || o.host.size() >= sizeof Hello().host)
    fail(Message()
         << "[init_parallel_env] ARGOSY_JOB_TOKEN and ARGOSY_COMM_HOST: expected fewer than "
         << sizeof Hello().token << " letters. Do this: shorten them.");
  const auto until = Clock::now() + std::chrono::milliseconds(
                                        static_cast<int64_t>(std::min(o.seconds, 1e9) * 1000));
  return o.rank == 0 ? host_ranks(o, until) : join_ranks(o, until);
}

std::string this_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat s {};
  stat("/proc/self/ns/net", &s);
  Message m;
  m << boot << '/' << static_cast<long long>(s.st_ino);
  return m.str();
}

}  // namespace argosy::comm
