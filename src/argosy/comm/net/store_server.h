#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/comm/job.h"
#include "argosy/comm/net/secret.h"
#include "argosy/comm/net/store_wire.h"

namespace argosy::comm::net {

// Keys and values that the ranks of a job share, and who of them lives: a rank that watches has to
// beat; whose connection ends without a word, or who is silent for kSilent, is gone for good, and
// all watchers are told. The connection of a host that cannot be reached ends. Clients prove that
// they have the job's token.
//
// Threads: run() is one thread's; nobody else touches anything but stop().
class ARGOSY_API StoreServer {
 public:
  static constexpr std::chrono::seconds kSilent{5};
  static constexpr std::chrono::seconds kAlone{2};

  StoreServer(Fd listener, std::string token);
  ~StoreServer();
  // Until stop().
  void run();
  // Until there has been no client for kAlone, or none is left once so many ranks have watched; the
  // first may take so many seconds.
  void run_for_clients(double first, int ranks);
  void stop();
  int port() const;

 private:
  struct Client;
  void turn();
  void accept_clients();
  void receive(Client& c);
  void handle(Client& c);
  void handle_proof(Client& c);
  void handle_frame(Client& c, const Frame& f);
  void answer(Client& c, uint64_t id, std::string value, Reply kind = Reply::done);
  void set(const std::string& key, std::string value);
  void tell_watchers(const Frame& f);
  void begin_watch(Client& c, int rank);
  void declare_gone(int rank, bool silent);
  void flush(Client& c);
  void look_at_clock();
  void drop_closed();
  // All ranks of the job have come, and one has gone or said so: who calls now is of the next job
  // at this address.
  bool ending() const;
  bool over() const { return ending() && clients_.empty(); }

  const Fd listener_;
  const Fd wake_;
  const std::string token_;
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::string, std::string> values_;
  std::map<int, bool> gone_;  // whether it was silent, rather than ended
  std::set<int> watched_;
  int ranks_ = 0;  // of the job that this store is for; 0: it outlives jobs
};

// The same on a thread of this process.
class ARGOSY_API StoreThread {
 public:
  StoreThread(Fd listener, std::string token);
  ~StoreThread();
  int port() const { return server_.port(); }

 private:
  StoreServer server_;
  const int process_;
  std::unique_ptr<std::thread> thread_;
};

// The same in a process of its own, which outlives this one and ends when all clients have; at once
// if all `ranks` of the job had come. `seconds`: that it waits for the first. The listener is
// closed here.
ARGOSY_API void serve_in_child(Fd listener, const std::string& token, double seconds, int ranks);

}  // namespace argosy::comm::net
