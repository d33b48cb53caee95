#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/ps/config.h"
#include "argosy/ps/key.h"

namespace argosy::ps {

struct ClientOptions {
  std::vector<std::string> endpoints;  // host:port of each server, in order
  uint32_t worker = 0, workers = 1;
  std::vector<TableConfig> tables;                      // must equal the servers'
  std::string token;                                    // shared secret; empty: none
  std::string certificate_authority;                    // PEM file; empty: no TLS
  std::chrono::milliseconds connect_deadline{120'000};  // servers may start later
  std::chrono::milliseconds call_deadline{60'000};      // with all retries of a call
};

// A worker's connection to all servers. Every call may come from any thread; each ends by its
// deadline with ErrorKind::timeout at the latest. A push that returned was applied exactly once;
// one that threw, at most once.
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
  // over all workers, once every worker has ended the step. Returns when they are.
  virtual void push_sparse_step(uint32_t table, uint64_t step, std::span<const Key> keys,
                                const float* values, float learning_rate) = 0;
  virtual void push_dense_step(uint32_t table, uint64_t step, std::span<const float> values,
                               float learning_rate) = 0;
  virtual void end_step(uint64_t step) = 0;

  // Among workers, through server 0. `name` tells rounds apart only for error texts.
  virtual void barrier(const std::string& name) = 0;
  virtual void all_reduce(std::span<double> values,
                          const std::string& operation) = 0;  // sum, min, max
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;

  // mode: 0 all rows with state, 1 delta, 2 base, 3 as 0 after a shrink (Paddle's save modes).
  virtual uint64_t save(const std::string& directory, int mode) = 0;
  virtual uint64_t load(const std::string& directory, int mode) = 0;
  virtual uint64_t shrink(uint32_t table) = 0;
  virtual void end_day() = 0;
  virtual std::string stats() = 0;  // JSON, a list over servers
  virtual void stop_servers() = 0;
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
};

ARGOSY_API std::unique_ptr<Client> connect(const ClientOptions& options);

}  // namespace argosy::ps
