#include "argosy/comm/net/store_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "argosy/base/error.h"

namespace argosy::comm::net {

namespace {

constexpr std::chrono::seconds kProofLimit{10};
constexpr size_t kUnproved = 256;  // most bytes of one who has proved nothing
constexpr std::chrono::milliseconds kTick{100};
// A client whose host does not answer has ended: else it would be waited for.
constexpr std::chrono::seconds kUnreachable{10};

Frame frame_of_gone(int rank, bool silent) {
  return {static_cast<uint8_t>(Reply::gone), 0, silent ? kSilentKey : "", bytes_of(rank)};
}

}  // namespace

struct StoreServer::Client {
  enum class State : uint8_t { called, answered, proved };
  explicit Client(Fd fd) : socket(std::move(fd)) {}

  Fd socket;
  State state = State::called;
  Call call;
  Nonce nonce;
  std::string in, out;
  bool closed = false;
  int rank = -1;  // of one that watches
  bool bye = false;
  Clock::time_point heard = Clock::now();
  struct Want {
    uint64_t id;
    std::string key;
    Clock::time_point until;
  };
  std::vector<Want> wants;
};

StoreServer::StoreServer(Fd listener, std::string token)
    : listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      token_(std::move(token)) {}

StoreServer::~StoreServer() = default;

int StoreServer::port() const {
  return port_of(listener_);
}

void StoreServer::stop() {
  stopped_ = true;
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof one) < 0) return;  // it is awake
}

void StoreServer::run() {
  while (!stopped_) turn();
}

void StoreServer::run_for_clients(double first, int ranks) {
  ranks_ = ranks;
  auto until = Clock::now() + limit_of(first);
  while (!over() && Clock::now() < until) {
    turn();
    if (!clients_.empty()) until = Clock::now() + kAlone;
  }
}

bool StoreServer::ending() const {
  if (!ranks_ || static_cast<int>(watched_.size()) < ranks_) return false;
  return std::count_if(clients_.begin(), clients_.end(),
                       [](const auto& c) { return c->rank >= 0 && !c->bye; }) < ranks_;
}

void StoreServer::turn() {
  // Whoever is not taken any more calls again, when this store has gone.
  const short calls = ending() ? 0 : POLLIN;
  std::vector<pollfd> fds{{listener_.get(), calls, 0}, {wake_.get(), POLLIN, 0}};
  for (const auto& c : clients_)
    fds.push_back(
        {c->socket.get(), static_cast<short>(POLLIN | (c->out.empty() ? 0 : POLLOUT)), 0});
  poll(fds.data(), fds.size(), static_cast<int>(kTick.count()));
  for (size_t i = 0; i + 2 < fds.size(); ++i)
    if (fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) receive(*clients_[i]);
  drop_closed();
  if (fds[0].revents && !ending()) accept_clients();
  look_at_clock();
  for (auto& c : clients_) flush(*c);
  drop_closed();
}

void StoreServer::accept_clients() {
  for (;;) {
    Fd fd = accept_tcp(listener_, Clock::time_point::min());
    if (!fd) return;
    end_when_unreachable(fd, kUnreachable);
    clients_.push_back(std::make_unique<Client>(std::move(fd)));
  }
}

void StoreServer::receive(Client& c) {
  char bytes[65536];
  for (;;) {
    const ssize_t n = recv(c.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      c.in.append(bytes, static_cast<size_t>(n));
      c.heard = Clock::now();
      if (c.state != Client::State::proved && c.in.size() > kUnproved) c.closed = true;
      if (n < static_cast<ssize_t>(sizeof bytes) || c.closed) break;
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) c.closed = true;
    break;
  }
  handle(c);
}

void StoreServer::handle(Client& c) {
  while (c.state != Client::State::proved) {
    const auto before = c.state;
    handle_proof(c);
    if (c.state == before) return;
  }
  size_t at = 0;
  for (;;) {
    Frame f;
    size_t taken = 0;
    const int got = unpack(std::string_view(c.in).substr(at), &f, &taken);
    if (got < 0) c.closed = true;
    if (got <= 0) break;
    at += taken;
    handle_frame(c, f);
  }
  c.in.erase(0, at);
}

void StoreServer::handle_proof(Client& c) {
  if (c.state == Client::State::called && c.in.size() >= sizeof(Call)) {
    std::memcpy(&c.call, c.in.data(), sizeof(Call));
    c.in.erase(0, sizeof(Call));
    if (c.call.purpose.magic != kStoreMagic) {
      c.closed = true;
      return;
    }
    Answer a;
    a.nonce = c.nonce = draw_nonce();
    a.proof = proof_of_called(token_, c.call, a.nonce);
    c.out += bytes_of(a);
    c.state = Client::State::answered;
  } else if (c.state == Client::State::answered && c.in.size() >= sizeof(Mac)) {
    Mac proof;
    std::memcpy(proof.data(), c.in.data(), sizeof proof);
    c.in.erase(0, sizeof proof);
    if (!same(proof, proof_of_caller(token_, c.call, c.nonce))) {
      c.closed = true;
      return;
    }
    c.out += kTaken;
    c.state = Client::State::proved;
  }
}

void StoreServer::answer(Client& c, uint64_t id, std::string value, Reply kind) {
  c.out += pack({static_cast<uint8_t>(kind), id, "", std::move(value)});
}

void StoreServer::tell_watchers(const Frame& f) {
  const std::string bytes = pack(f);
  for (auto& c : clients_)
    if (c->rank >= 0) c->out += bytes;
}

void StoreServer::set(const std::string& key, std::string value) {
  if (!key.empty() && key[0] == kNews)
    tell_watchers({static_cast<uint8_t>(Reply::changed), 0, key, value});
  for (auto& c : clients_)
    std::erase_if(c->wants, [&](const Client::Want& w) {
      if (w.key != key) return false;
      answer(*c, w.id, value);
      return true;
    });
  values_[key] = std::move(value);
}

void StoreServer::begin_watch(Client& c, int rank) {
  c.rank = rank;
  watched_.insert(rank);
  for (const auto& [key, value] : values_)
    if (!key.empty() && key[0] == kNews)
      c.out += pack({static_cast<uint8_t>(Reply::changed), 0, key, value});
  for (const auto& [r, silent] : gone_) c.out += pack(frame_of_gone(r, silent));
}

void StoreServer::declare_gone(int rank, bool silent) {
  if (gone_.emplace(rank, silent).second) tell_watchers(frame_of_gone(rank, silent));
}

void StoreServer::handle_frame(Client& c, const Frame& f) {
  const auto it = values_.find(f.key);
  const bool there = it != values_.end();
  switch (static_cast<Op>(f.kind)) {
    case Op::set:
      set(f.key, f.value);
      return answer(c, f.id, "");
    case Op::set_once:
      if (!there) set(f.key, f.value);
      return answer(c, f.id, values_[f.key]);
    case Op::get:
      if (there) return answer(c, f.id, it->second);
      c.wants.push_back(
          {f.id, f.key, Clock::now() + std::chrono::milliseconds(value_of<int64_t>(f.value))});
      return;
    case Op::add: {
      // Numbers are kept as text, so that `get` of them is readable.
      const int64_t before = there ? std::strtoll(it->second.c_str(), nullptr, 10) : 0;
      const int64_t sum = before + value_of<int64_t>(f.value);
      set(f.key, std::to_string(sum));
      return answer(c, f.id, bytes_of(sum));
    }
    case Op::check:
      return answer(c, f.id, there ? "1" : "0");
    case Op::remove:
      if (there) values_.erase(it);
      return answer(c, f.id, there ? "1" : "0");
    case Op::list: {
      std::string out;
      for (auto v = values_.lower_bound(f.key);
           v != values_.end() && v->first.compare(0, f.key.size(), f.key) == 0; ++v) {
        append_text(&out, v->first);
        append_text(&out, v->second);
      }
      return answer(c, f.id, std::move(out));
    }
    case Op::count:
      return answer(c, f.id, bytes_of(static_cast<int64_t>(values_.size())));
    case Op::watch:
      begin_watch(c, value_of<int32_t>(f.value));
      return answer(c, f.id, "");
    case Op::beat:
      c.out += pack({static_cast<uint8_t>(Reply::beat), 0, "", ""});
      return;
    case Op::ping:
      return answer(c, f.id, "");
    case Op::bye:
      c.bye = true;
      return answer(c, f.id, "");
  }
  c.closed = true;
}

void StoreServer::flush(Client& c) {
  while (!c.out.empty() && !c.closed) {
    const ssize_t n = send(c.socket.get(), c.out.data(), c.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno != EAGAIN && errno != EINTR) c.closed = true;
      return;
    }
    c.out.erase(0, static_cast<size_t>(n));
  }
}

void StoreServer::look_at_clock() {
  const auto now = Clock::now();
  for (auto& c : clients_) {
    if (c->state != Client::State::proved && now - c->heard > kProofLimit) c->closed = true;
    if (c->rank >= 0 && !c->bye && now - c->heard > kSilent) declare_gone(c->rank, true);
    std::erase_if(c->wants, [&](const Client::Want& w) {
      if (now < w.until) return false;
      answer(*c, w.id, "", Reply::absent);
      return true;
    });
  }
}

void StoreServer::drop_closed() {
  std::vector<int> lost;
  std::erase_if(clients_, [&](const auto& c) {
    if (c->closed && c->rank >= 0 && !c->bye) lost.push_back(c->rank);
    return c->closed;
  });
  for (const int r : lost) declare_gone(r, false);
  if (!lost.empty())
    for (auto& c : clients_) flush(*c);
}

StoreThread::StoreThread(Fd listener, std::string token)
    : server_(std::move(listener), std::move(token)),
      process_(getpid()),
      thread_(std::make_unique<std::thread>([this] { server_.run(); })) {}

StoreThread::~StoreThread() {
  if (process_ != getpid()) {  // a forked child has no such thread
    static_cast<void>(thread_.release());
    return;
  }
  server_.stop();
  thread_->join();
}

namespace {

// Nothing of the parent's may be held: its pipes, its sockets.
void close_all_but(int keep) {
  const auto close_range = [](unsigned from, unsigned to) {
    return from > to || syscall(SYS_close_range, from, to, 0) == 0;
  };
  const auto k = static_cast<unsigned>(keep);
  if (close_range(0, k - 1) && close_range(k + 1, ~0u)) return;
  for (int fd = 0; fd < 65536; ++fd)
    if (fd != keep) close(fd);
}

[[noreturn]] void be_store(Fd listener, const std::string& token, double seconds, int ranks) {
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGSEGV, SIGABRT})
    signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_all_but(listener.get());
  for (int i = 0; i < 3; ++i)
    if (open("/dev/null", O_RDWR) < 0) _exit(1);
  prctl(PR_SET_NAME, "argosy-store");
  prctl(PR_SET_PDEATHSIG, 0);
  StoreServer server(std::move(listener), token);
  server.run_for_clients(seconds, ranks);
  _exit(0);
}

}  // namespace

// Forked twice, so that nobody has to wait for it. The child of a process with threads must not
// touch what their locks guard: it keeps to the C library and to what is made here.
void serve_in_child(Fd listener, const std::string& token, double seconds, int ranks) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) be_store(std::move(listener), token, seconds, ranks);
    _exit(grandchild < 0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ARGOSY_CHECK(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, runtime)
      << "[init_parallel_env] cannot start the process of the job's store: fork failed.";
}

}  // namespace argosy::comm::net
