#include "argosy/comm/shm_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "argosy/base/memory.h"
#include "argosy/base/mutex.h"
#include "argosy/comm/error.h"
#include "argosy/comm/local_socket.h"

namespace argosy::comm {

namespace {

constexpr uint64_t kMagic = 0x3230797367726141;  // changes with what is said below
constexpr int kMostRanks = 200;                  // descriptors in one message, with two more
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

// Of one file for all ranks: only pages that were written take memory.
constexpr size_t kTensorsOfRank = size_t{64} << 30;  // what does not fit is exchanged by copies

constexpr off_t tensors_offset(int rank) {
  return static_cast<off_t>(static_cast<size_t>(rank) * kTensorsOfRank);
}

// Null if it cannot be mapped.
void* map_tensors(int file, int rank, int flags, void* at = nullptr) {
  struct stat s;
  if (fstat(file, &s) || s.st_size < tensors_offset(rank + 1)) return nullptr;
  void* p = mmap(at, kTensorsOfRank, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file,
                 tensors_offset(rank));
  if (p == MAP_FAILED) return nullptr;
  madvise(p, kTensorsOfRank, MADV_HUGEPAGE);  // where the system has them for such memory
  madvise(p, kTensorsOfRank, MADV_DONTDUMP);
  return p;
}

// The tensors of this process that others see. There is one such memory in the life of a process,
// which the allocator keeps for ever.
struct OwnTensors {
  void* begin;
  int file;
  int rank;
};
std::atomic<const OwnTensors*> own_tensors{nullptr};

// A child that was forked has its parent's tensors, but what it writes is its own.
void part_from_parent() {
  if (const OwnTensors* own = own_tensors.load())
    map_tensors(own->file, own->rank, MAP_PRIVATE | MAP_FIXED, own->begin);
}

// Lets the allocator take this rank's part of the file. False if it has other memory already.
bool keep_tensors(int file, int rank, void* begin) {
  if (!memory::share(static_cast<char*>(begin), kTensorsOfRank)) return false;
  own_tensors = new OwnTensors{begin, fcntl(file, F_DUPFD_CLOEXEC, 0), rank};
  pthread_atfork(nullptr, nullptr, part_from_parent);
  return true;
}

class ShmEngine final : public Engine {
 public:
  ShmEngine(int rank, Fd memory, Fd tensors, std::vector<Fd> lives)
      : rank_(rank),
        memory_(std::move(memory)),
        tensors_(std::move(tensors)),
        lives_(std::move(lives)),
        areas_(lives_.size()) {}

  ~ShmEngine() override {
    for (size_t r = 0; r < areas_.size(); ++r)
      if (const auto& area = areas_[r]; area && area->bytes && static_cast<int>(r) != rank_)
        munmap(reinterpret_cast<void*>(area->begin), area->bytes);
  }

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

  Area tensors(int rank) override {
    MutexLock lock(mutex_);
    std::optional<Area>& area = areas_[static_cast<size_t>(rank)];
    if (!area) area = map_area(rank);
    return *area;
  }

  bool gone(int rank) override {
    if (rank == rank_) return false;
    pollfd p{lives_[static_cast<size_t>(rank)].get(), POLLIN, 0};
    return poll(&p, 1, 0) > 0;
  }

 private:
  Area map_area(int rank) const {
    void* begin = map_tensors(tensors_.get(), rank, MAP_SHARED);
    if (begin && rank == rank_ && !keep_tensors(tensors_.get(), rank, begin)) {
      munmap(begin, kTensorsOfRank);
      begin = nullptr;
    }
    return {reinterpret_cast<uintptr_t>(begin), begin ? kTensorsOfRank : 0};
  }

  const int rank_;
  const Fd memory_, tensors_;
  const std::vector<Fd> lives_;  // readable, or hung up, once that process has ended
  Mutex mutex_;
  std::vector<std::optional<Area>> areas_ ARGOSY_GUARDED_BY(mutex_);  // by rank, once asked for
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
  Fd tensors(memfd_create("argosy-tensors", MFD_CLOEXEC));
  if (!memory || !tensors)
    fail(Message() << "[init_parallel_env] no memfd: " << std::strerror(errno) << '.');
  // If that is more than files may have here, ranks find it empty and keep their tensors to
  // themselves.
  static_cast<void>(!ftruncate(tensors.get(), tensors_offset(o.size)));
  std::vector<int> fds{memory.get(), tensors.get()};
  for (const Fd& life : lives) fds.push_back(life.get());
  Welcome yes;
  for (size_t r = 1; r < n; ++r)
    if (!send_message(sockets[r], bytes_of(yes), fds))
      fail(Message() << "[init_parallel_env] rank " << static_cast<int>(r)
                     << " has ended while the ranks were being connected.");
  return std::make_shared<ShmEngine>(0, std::move(memory), std::move(tensors), std::move(lives));
}

std::shared_ptr<Engine> join_ranks(const ShmOptions& o, Clock::time_point until) {
  Fd socket;
  while (!(socket = connect_to(o.name)) || !same_user(socket)) {
    if (Clock::now() > until)
      fail(Message() << "[init_parallel_env] expected rank " << o.first << " at " << o.name
                     << ", but it has not come within " << o.seconds
                     << (o.several_hosts ? " s, though it said that it is on this host."
                                           " Do this: see what that process wrote last."
                                         : " s; nothing says that the ranks are on several hosts "
                                           "(PADDLE_NNODES).")
                     << (o.several_hosts ? "" : kRemedy));
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
  if (fds.size() != static_cast<size_t>(o.size) + 2)
    fail(Message() << "[init_parallel_env] rank 0 sent " << fds.size() << " descriptors.");
  Fd memory = std::move(fds[0]), tensors = std::move(fds[1]);
  fds.erase(fds.begin(), fds.begin() + 2);
  return std::make_shared<ShmEngine>(o.rank, std::move(memory), std::move(tensors), std::move(fds));
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
