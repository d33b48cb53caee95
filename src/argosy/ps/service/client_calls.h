#pragma once

#include <atomic>
#include <random>
#include <set>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/transport.h"

namespace argosy::ps {

// Numbers for requests that are applied once. Those in use lie close together, so that they stay in
// the server's window however long one of them is tried.
class Sequence {
 public:
  // 0: none got free in time.
  uint64_t begin(Transport::Clock::time_point end);
  uint64_t next();  // that begin gives; all that are in use are below
  void finish(uint64_t number);

 private:
  Mutex mutex_;
  CondVar finished_;
  std::set<uint64_t> running_ ARGOSY_GUARDED_BY(mutex_);
  uint64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
};

// The calls of a client: exchanges with retries, errors with texts. From any thread.
class Calls {
 public:
  using Clock = Transport::Clock;
  explicit Calls(const ClientOptions& options);
  ~Calls();

  // Tries until all have an answer; throws ServiceError. `what` is the name of the call.
  void run(const char* what, std::span<Exchange> exchanges, std::chrono::milliseconds deadline);
  // The same for exchanges that are applied once: gives them their numbers.
  void run_once(const char* what, std::span<Exchange> exchanges,
                std::chrono::milliseconds deadline);
  // Fills in who asks.
  Exchange exchange(uint32_t server, Method method) const;
  // Hello to all servers.
  void connect();
  // One attempt for each; whoever asks looks at what came of it.
  void attempt(std::span<Exchange> exchanges, std::chrono::milliseconds limit);
  // False: it did not answer within a few attempts.
  bool try_stop(uint32_t server);

  uint32_t servers() const { return static_cast<uint32_t>(servers_.size()); }
  // As the servers said. Constant once connected.
  const std::vector<TableConfig>& tables() const { return tables_; }
  const TableShape& shape(uint32_t server, uint32_t table) const;
  uint64_t next_step() const { return next_step_; }
  // At some server this worker's place has ended the step before, which waits for others.
  bool step_open() const { return step_open_; }
  uint64_t next_round() const { return next_round_; }
  const Transport& transport() const { return *transport_; }
  uint64_t retries() const { return retries_; }

 private:
  class Attempts;
  struct Server {
    Mutex mutex;
    uint64_t epoch ARGOSY_GUARDED_BY(mutex) = 0;
    uint64_t incarnation ARGOSY_GUARDED_BY(mutex) = 0;
    std::vector<TableShape> tables;
    Sequence sequence;
  };
  Exchange hello(uint32_t server) const;
  // After a failure with Code::unknown_client. Throws if it is not known whether the request was
  // applied.
  void meet_again(const char* what, Exchange* x);
  // A fresh number for a request whose only attempt was refused: nothing of it was applied. False:
  // it has none, or there were other attempts.
  bool renumber(Exchange* x);
  [[noreturn]] void fail(const char* what, const Exchange& x, Clock::duration spent) const;
  std::string place(uint32_t server) const;
  std::chrono::milliseconds jitter(std::chrono::milliseconds delay);

  const ClientOptions options_;
  const ClientId id_;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<TableConfig> tables_;
  uint64_t next_step_ = 0, next_round_ = 1;
  bool step_open_ = false;
  std::atomic<uint64_t> retries_{0};
  Mutex mutex_;
  std::mt19937_64 random_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::ps
