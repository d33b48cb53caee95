#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/service/client.h"
#include "argosy/ps/service/message.h"
#include "argosy/ps/service/server_core.h"

// How messages travel: gRPC behind two small interfaces.
namespace argosy::ps {

// --- the server's side (transport_server.cc) ---
class Listener {
 public:
  virtual ~Listener() = default;
  virtual int port() const = 0;
  // No new calls; those in progress end, the latest after `grace`. False if something hangs: then
  // neither this nor the core may be destroyed.
  virtual bool stop(std::chrono::milliseconds grace) = 0;
};
// Hands what arrives to `core`, which outlives it.
std::unique_ptr<Listener> listen(const ServerOptions& options, Core& core);

// --- the client's side (transport_client.cc) ---
// One request to one server, with what came of it.
struct Exchange {
  uint32_t server = 0;
  Method method = Method::hello;
  Header header;
  std::shared_ptr<const Bytes> keys, values;  // may be null; kept until gRPC needs them no more
  // Reads the answer's bulk field, once, in the thread of `run`. False: it has a wrong size.
  std::function<bool(std::span<const Piece>)> take;

  Answer answer;  // without values
  Failure failure;
  uint32_t attempts = 0;
};

class Transport {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Transport() = default;
  // One attempt for each, all at once; returns when all have an answer, a failure or `attempt`
  // passed. unreachable servers fail with Code::busy, those that do not answer with Code::timeout
  // and `silent`.
  virtual void run(std::span<Exchange*> exchanges, std::chrono::milliseconds attempt) = 0;
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
};
std::unique_ptr<Transport> make_transport(const ClientOptions& options);

// Marks gRPC as used in this process: after a fork the child must not use it. `forked` is true in
// such a child.
void mark_used();
bool forked();

}  // namespace argosy::ps
