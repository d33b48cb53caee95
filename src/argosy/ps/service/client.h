#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/ps/config.h"
#include "argosy/ps/key.h"
#include "argosy/ps/request.h"

namespace argosy::ps {

struct ClientOptions {
  std::vector<std::string> endpoints;  // host:port of each server, in order
  uint32_t worker = 0, workers = 1;
  std::vector<TableConfig> tables;  // must equal the servers'; empty: takes theirs
  // The worker's, and the administrator's for calls that need it; without either, those that a
  // server of the same user on this host left (secret_file.h).
  std::string token, admin_token;
  std::string certificate_authority;         // PEM file; empty: no TLS
  std::string certificate, certificate_key;  // PEM files, for servers that ask for them
  bool insecure = false;                     // a token may travel beyond loopback without TLS
  std::chrono::milliseconds connect_deadline{120'000};  // servers may start later
  std::chrono::milliseconds call_deadline{60'000};      // with all retries of a call
  // Of calls that wait for other workers (end_step, barrier, all_reduce, all_gather).
  std::chrono::milliseconds wait_deadline{600'000};
  // Of save, load, shrink and end_day.
  std::chrono::milliseconds table_deadline{3'600'000};
  // Of one attempt; a call that got no answer in this time is made again, with twice as much.
  std::chrono::milliseconds attempt_deadline{5'000};
  uint32_t channels = 2;                     // connections to each server
  uint64_t chunk_bytes = uint64_t{4} << 20;  // larger requests are cut
  std::string faults;  // see fault.h; empty: by the environment variable ARGOSY_PS_FAULTS
  // Called by the thread of a call between its attempts; ends the call by an exception (Ctrl-C).
  void (*between_attempts)() = nullptr;
};

// What a call can end with. kind() makes it a Python exception.
class ARGOSY_API ServiceError : public Error {
 public:
  enum class Reason : uint8_t {
    timeout,          // no answer, or workers missing: the text says which
    refused,          // the server cannot do this request
    unauthenticated,  // another token
    forbidden,        // the call needs the administrator's token
    mismatch,         // configurations differ: the text says in what
    stale_epoch,      // the servers were sharded anew since this client connected
    unknown_outcome,  // may have been applied or not; not applied again
    failed,           // an error of the server itself
    forked,           // this process is a fork of one with a client
  };
  ServiceError(Reason reason, std::string text);
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

// A worker's connection to all servers. Every call may come from any thread; each ends by its
// deadline with ErrorKind::timeout at the latest. A push that returned was applied exactly once;
// one that threw, at most once (where it went to several servers: on each of them).
class ARGOSY_API Client {
 public:
  virtual ~Client();
  virtual void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool create) = 0;
  virtual void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                           float learning_rate) = 0;
  virtual void assign_sparse(uint32_t table, std::span<const Key> keys, const float* values) = 0;
  virtual void pull_dense(uint32_t table, std::span<float> out) = 0;
  virtual void push_dense(uint32_t table, std::span<const float> values, float learning_rate) = 0;
  virtual void assign_dense(uint32_t table, std::span<const float> values) = 0;

  // Synchronous training: pushes of `step` are gathered by the servers and applied, as the mean
  // over all workers, once every worker has ended the step. Returns when they are. Steps count by
  // one from next_step().
  virtual void push_sparse_step(uint32_t table, uint64_t step, std::span<const Key> keys,
                                const float* values, float learning_rate) = 0;
  virtual void push_dense_step(uint32_t table, uint64_t step, std::span<const float> values,
                               float learning_rate) = 0;
  virtual void end_step(uint64_t step) = 0;

  // Requests to several tables, on their way at the same time.
  virtual void pull(std::span<const SparsePull> requests, bool create);
  virtual void push(std::span<const SparsePush> sparse, std::span<const DensePush> dense);
  virtual void push_step(uint64_t step, std::span<const SparsePush> sparse,
                         std::span<const DensePush> dense);
  // As it was when this client connected: 0, unless others train already or a log was replayed. Of
  // a process that takes a worker's place, the step that its predecessor had not ended everywhere:
  // what that had pushed to it counts no more.
  virtual uint64_t next_step() const = 0;

  // Among workers, through server 0. All must come for the same name. Once a worker has come for
  // its `last`, the barriers of others pass it over.
  virtual void barrier(const std::string& name, bool last = false) = 0;
  virtual void all_reduce(std::span<double> values,
                          const std::string& operation) = 0;  // sum, min, max
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  // Of any size: gives each worker its part, returns what all have for this one, by their number.
  // All workers call it, one call of theirs at a time.
  virtual std::vector<std::string> exchange(const std::vector<std::string>& parts);

  // mode: 0 all rows with state, 1 delta, 2 base, 3 as 0 after a shrink (Paddle's save modes).
  // `directory` is one that servers see. Return rows.
  // 4: the rows shown most, a share of each table's.
  virtual uint64_t save(const std::string& directory, int mode, const Extent& extent = {}) = 0;
  virtual uint64_t load(const std::string& directory, int mode, uint32_t table = kAllTables) = 0;
  virtual uint64_t shrink(uint32_t table) = 0;
  virtual void end_day() = 0;
  virtual std::string stats() = 0;  // JSON, a list over servers
  // Returns when every server has heard it or is gone.
  virtual void stop_servers() = 0;
  virtual const std::vector<TableConfig>& tables() const = 0;
  // Numbers in a row: of a sparse table. ValueError for others.
  virtual size_t pull_width(uint32_t table) const = 0;
  virtual size_t push_width(uint32_t table) const = 0;
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
  virtual uint64_t retries() const = 0;
};

// As parse_server_options.
ARGOSY_API ClientOptions parse_client_options(std::string_view json);

// Waits for servers that are not there yet, until connect_deadline.
ARGOSY_API std::unique_ptr<Client> connect(const ClientOptions& options);

}  // namespace argosy::ps
