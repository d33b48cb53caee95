#include "argosy/comm/net/tcp_network.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>

#include "argosy/base/mutex.h"
#include "argosy/comm/channel.h"
#include "argosy/comm/job.h"
#include "argosy/comm/net/store_control.h"
#include "argosy/comm/net/store_server.h"
#include "argosy/comm/net/tcp_links.h"

namespace argosy::comm::net {

namespace {

constexpr std::chrono::seconds kProofLimit{2};
// For a port that somebody has: longer than a store is silent about ranks of a job before.
constexpr std::chrono::seconds kPatience{15};

[[noreturn]] void fail(Failure failure, const Message& m) {
  throw CommError(failure, m);
}

class TcpNetwork final : public Network {
 public:
  TcpNetwork(const TcpOptions& o, std::shared_ptr<StoreClient> store)
      : rank_(o.rank),
        size_(o.size),
        token_(o.token),
        prefix_(o.job + '/'),
        store_(std::move(store)),
        control_(store_, o.job, o.rank) {
    Address own;
    own.host = o.interface.empty() ? store_->own_host() : host_of_interface(o.interface);
    listener_ = listen_tcp(own);
    if (!listener_)
      fail(Failure::connection, Message() << "[init_parallel_env] cannot listen at " << own.host
                                          << ". Do this: set ARGOSY_SOCKET_IFNAME to the interface"
                                             " by which the other hosts reach this one.");
    own.port = port_of(listener_);
    store_->set(prefix_ + "address/" + std::to_string(rank_), print_address(own));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "tcp"; }
  Control& control() override { return control_; }
  std::unique_ptr<Links> connect(uint32_t group, const std::vector<int>& ranks, int rank,
                                 double seconds) override;

 private:
  using Key = std::tuple<uint32_t, uint32_t, int>;  // group, lane, the caller's rank among all

  [[noreturn]] void fail_gone(int rank) const;
  Fd call(uint32_t group, Lane lane, int rank, Clock::time_point until, double seconds);
  // Takes callers until this one has called.
  Fd take(const Key& wanted, Clock::time_point until, double seconds) ARGOSY_REQUIRES(mutex_);

  const int rank_, size_;
  const std::string token_, prefix_;
  const std::shared_ptr<StoreClient> store_;
  StoreControl control_;
  Fd listener_;
  Mutex mutex_;                                        // of making connections: one group at a time
  std::map<Key, Fd> early_ ARGOSY_GUARDED_BY(mutex_);  // of groups that come later
};

void TcpNetwork::fail_gone(int rank) const {
  const double silent = control_.silence(rank);
  Message m;
  m << "[init_parallel_env] rank " << rank;
  if (silent > 0)
    m << " has been silent for " << silent << " s";
  else
    m << " has ended";
  m << " while the ranks were being connected."
    << (silent > 0 ? remedy_of_silence() : remedy(Failure::lost));
  fail(Failure::lost, m);
}

Fd TcpNetwork::call(uint32_t group, Lane lane, int rank, Clock::time_point until, double seconds) {
  const std::string at =
      store_->get(prefix_ + "address/" + std::to_string(rank), seconds).value_or("");
  Purpose purpose;
  purpose.magic = kLinkMagic;
  purpose.group = group;
  purpose.rank = rank_;
  purpose.lane = static_cast<uint32_t>(lane);
  while (Clock::now() < until) {
    Fd fd = connect_tcp(parse_address(at), std::min(until, Clock::now() + kProofLimit));
    if (control_.gone(rank)) break;
    if (!fd) continue;
    const Trust trust = prove_as_caller(fd, token_, purpose, until);
    if (trust == Trust::yes) return fd;
    if (trust == Trust::no)
      fail(Failure::connection,
           Message() << "[init_parallel_env] who listens at " << at << " is not rank " << rank
                     << " of this job: its ARGOSY_JOB_TOKEN differs. Do this: give all ranks the "
                        "same token.");
  }
  if (control_.gone(rank)) fail_gone(rank);
  fail(Failure::connection, Message()
                                << "[init_parallel_env] rank " << rank_ << " cannot reach rank "
                                << rank << " at " << at << " within " << seconds
                                << " s. Do this: let the hosts reach each other at any port, or"
                                   " set ARGOSY_SOCKET_IFNAME to the interface for it.");
}

Fd TcpNetwork::take(const Key& wanted, Clock::time_point until, double seconds) {
  const int rank = std::get<2>(wanted);
  for (;;) {
    if (const auto it = early_.find(wanted); it != early_.end()) {
      Fd fd = std::move(it->second);
      early_.erase(it);
      return fd;
    }
    if (control_.gone(rank)) fail_gone(rank);
    if (Clock::now() >= until)
      fail(Failure::connection,
           Message() << "[init_parallel_env] expected a connection of rank " << rank << " to rank "
                     << rank_ << ", but it has not come within " << seconds
                     << " s. Do this: see what that process wrote last, and let"
                        " the hosts reach each other at any port.");
    Fd fd = accept_tcp(listener_, std::min(until, Clock::now() + std::chrono::milliseconds(200)));
    if (!fd) continue;
    Purpose purpose;
    const auto soon = std::min(until, Clock::now() + kProofLimit);
    // Strangers are turned away without a word.
    if (prove_as_called(fd, token_, &purpose, soon) != Trust::yes || purpose.magic != kLinkMagic)
      continue;
    early_[{purpose.group, purpose.lane, purpose.rank}] = std::move(fd);
  }
}

// Who is later in the group calls who is earlier. Each rank first calls, from the first on, and
// then takes calls: rank 0 takes calls at once, so all come through one after the other.
std::unique_ptr<Links> TcpNetwork::connect(uint32_t group, const std::vector<int>& ranks, int rank,
                                           double seconds) {
  MutexLock lock(mutex_);
  const auto until = Clock::now() + limit_of(seconds);
  std::array<std::vector<Fd>, kLanes> sockets;
  for (auto& of_lane : sockets) of_lane.resize(ranks.size());
  for (size_t r = 0; r < static_cast<size_t>(rank); ++r)
    for (size_t lane = 0; lane < kLanes; ++lane)
      sockets[lane][r] = call(group, static_cast<Lane>(lane), ranks[r], until, seconds);
  for (size_t r = static_cast<size_t>(rank) + 1; r < ranks.size(); ++r) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      sockets[lane][r] = take({group, static_cast<uint32_t>(lane), ranks[r]}, until, seconds);
  }
  return std::make_unique<TcpLinks>(std::move(sockets));
}

}  // namespace

namespace {

// Says who is on which host, and waits for all. Two processes that are the same rank would share
// its place, and ranks of jobs of several sizes would wait for ever.
std::vector<std::string> hosts_of_all(StoreClient& store, const TcpOptions& o) {
  const std::string prefix = o.job + '/';
  const auto key = [&](int rank) { return prefix + "rank/" + std::to_string(rank); };
  const std::string own = o.host + ' ' + std::to_string(getpid());
  if (store.set_once(key(o.rank), own) != own)
    fail(Failure::connection,
         Message()
             << "[init_parallel_env] two processes are rank " << o.rank << " of " << o.size
             << ": expected one. Do this: give each process its own PADDLE_TRAINER_ID, and each"
                " job its own PADDLE_MASTER.");
  const std::string size = store.set_once(prefix + "size", std::to_string(o.size));
  if (size != std::to_string(o.size))
    fail(Failure::connection,
         Message() << "[init_parallel_env] rank " << o.rank << " is one of " << o.size
                   << " ranks, another one is one of " << size
                   << ". Do this: start all ranks with the same PADDLE_TRAINERS_NUM.");
  std::vector<std::string> hosts;
  const auto until = Clock::now() + limit_of(o.seconds);
  for (int r = 0; r < o.size; ++r) {
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    const auto found = store.get(key(r), std::max(0.0, left));
    if (found) {
      hosts.push_back(found->substr(0, found->rfind(' ')));
      continue;
    }
    Message missing;
    for (int m = 0; m < o.size; ++m)
      if (!store.has(key(m))) missing << (missing.str().empty() ? "" : ", ") << m;
    fail(Failure::connection,
         Message() << "[init_parallel_env] expected " << o.size << " ranks, but ranks "
                   << missing.str() << " have not come within " << o.seconds
                   << " s. Do this: see whether their processes were started, with the same"
                      " PADDLE_MASTER and PADDLE_TRAINERS_NUM.");
  }
  return hosts;
}

// Another program may have the port for a while yet: the store of a job that has just ended.
Fd listen_with_patience(int port, double seconds) {
  const auto until = Clock::now() + std::min<Clock::duration>(limit_of(seconds), kPatience);
  Fd listener;
  while (!(listener = listen_tcp({"", port})) && errno == EADDRINUSE && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    idle();
  }
  return listener;
}

}  // namespace

Meeting meet(const TcpOptions& o) {
  if (o.rank < 0 || o.rank >= o.size)
    fail(Failure::connection,
         Message() << "[init_parallel_env] expected ranks below their number, got rank " << o.rank
                   << " of " << o.size
                   << ". Do this: give each process its own PADDLE_TRAINER_ID, 0 to " << o.size - 1
                   << '.');
  const Address master = parse_address(o.master);
  if (o.rank == 0 && !o.served) {
    Fd listener = listen_with_patience(master.port, o.seconds);
    if (!listener)
      fail(Failure::connection,
           Message() << "[init_parallel_env] rank 0 cannot keep the job's store at "
                     << print_address(master) << ": " << std::strerror(errno)
                     << ". Do this: set PADDLE_MASTER to a free port of rank 0's host.");
    serve_in_child(std::move(listener), o.token, o.seconds, o.size);
  }
  Meeting out;
  out.store = std::make_shared<StoreClient>(master, o.token, o.seconds);
  out.hosts = hosts_of_all(*out.store, o);
  return out;
}

std::shared_ptr<Network> connect_tcp_network(const TcpOptions& o,
                                             std::shared_ptr<StoreClient> store) {
  return std::make_shared<TcpNetwork>(o, std::move(store));
}

}  // namespace argosy::comm::net
