#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/net/secret.h"
#include "argosy/comm/net/store_wire.h"

namespace argosy::comm::net {

// A connection to a job's store. Calls throw CommError where the store has ended, or has not
// answered in time.
//
// Threads: all calls. A thread of its own reads what the store says, and beats for a rank.
class ARGOSY_API StoreClient {
 public:
  // Told, on the client's thread, what changes; see `watch`.
  struct Listener {
    std::function<void(const std::string& key, const std::string& value)> changed;
    std::function<void(int rank, bool silent)> gone;
    std::function<void(const std::string& why)> lost;  // the store itself; nothing comes after it
  };

  // Waits for a store at the address. Throws CommError where none comes, or it has another token.
  StoreClient(const Address& address, const std::string& token, double seconds);
  ~StoreClient();

  void set(const std::string& key, const std::string& value);
  // What is there afterwards.
  std::string set_once(const std::string& key, const std::string& value);
  // Waits for the key, nothing if it has not come in time.
  std::optional<std::string> get(const std::string& key, double seconds);
  int64_t add(const std::string& key, int64_t value);
  bool has(const std::string& key);
  bool remove(const std::string& key);
  int64_t count();
  std::vector<std::pair<std::string, std::string>> list(const std::string& prefix);
  // From now on this process counts as dead when the connection ends without `bye`, or is silent.
  // The listener hears all keys that begin with kNews and all ranks that are gone, also of before.
  void watch(int rank, Listener listener);
  void ping();
  void bye() noexcept;
  // The address of this host, as the store's host sees it.
  std::string own_host() const { return net::own_host(socket_); }
  const Address& address() const { return address_; }

 private:
  std::optional<std::string> request(Op op, const std::string& key, const std::string& value,
                                     double seconds);
  std::string ask(Op op, const std::string& key, const std::string& value);
  void say(const std::string& frame);
  void loop();
  void hear(const Frame& f);
  void lose(const std::string& why);

  struct Answer {
    bool there = false, absent = false;
    std::string value;
  };
  const Address address_;
  Fd socket_;
  const Fd wake_;
  const int process_;
  std::string in_;  // of the thread
  Mutex writing_;   // of the socket
  Mutex mutex_;
  CondVar changed_;
  uint64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Answer> answers_ ARGOSY_GUARDED_BY(mutex_);
  std::string lost_ ARGOSY_GUARDED_BY(mutex_);  // why; empty: it is there
  Listener listener_ ARGOSY_GUARDED_BY(mutex_);
  bool watches_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace argosy::comm::net
