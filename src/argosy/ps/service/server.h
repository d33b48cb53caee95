#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/ps/config.h"

namespace argosy::ps {

struct ServerOptions {
  std::string endpoint;  // host:port; port 0 takes a free one
  uint32_t index = 0, servers = 1, workers = 1;
  std::string job;  // what tells this job from others; stats say it, nothing else reads it
  std::vector<TableConfig> tables;
  // Who knows it may train. On loopback without one the server makes both tokens (secret_file.h).
  std::string token;
  // Needed for shrink, end of day, load, save and stop; empty: the token is enough.
  std::string admin_token;
  std::string certificate, certificate_key;  // PEM files; empty: no TLS
  // PEM file: clients need a certificate of this authority, and a token still.
  std::string client_certificate_authority;
  bool insecure = false;  // lets it listen beyond loopback without TLS
  // none: nothing on disk. snapshot: what the last snapshot has survives. log: every acknowledged
  // push survives.
  std::string durability = "none";
  std::string directory;  // of snapshots and log
  std::chrono::seconds snapshot_every{0};
  // Without snapshot_every, a log of more bytes than this and than half of the last snapshot brings
  // the next one: so recovery stays short.
  uint64_t snapshot_log_bytes = uint64_t{1} << 30;
  // A save that tables start from where `directory` has nothing to recover; and its mode.
  std::string load_from;
  int load_mode = 0;
  // Beneath which clients may save and load; empty: the working directory.
  std::vector<std::string> save_roots;
  // What waits for a snapshot, save, shrink or load to end gives up after this.
  std::chrono::milliseconds turn_limit{600'000};
  // For how long the end of the server waits for what runs and for the disk.
  std::chrono::milliseconds stop_limit{60'000};
  uint32_t threads = 0;  // 0: as many as cores
  uint32_t thread_count() const;
  uint64_t max_message_bytes = uint64_t{256} << 20;
  uint64_t max_keys = uint64_t{16} << 20;  // of one call
  uint64_t max_client_rows = 0;            // that one client may create; 0: no limit
  // Answers that clients have not read yet. One of any size goes where there is no other.
  uint64_t max_answer_bytes = uint64_t{1} << 30;
  // A call whose client has not read the whole answer by then is cancelled.
  std::chrono::milliseconds answer_deadline{60'000};
  uint64_t max_mailbox_bytes = uint64_t{256} << 20;  // see mailbox.h
  uint32_t max_connections = 4096;
  uint32_t max_calls = 8192;          // at once, of all kinds
  uint32_t max_arriving_calls = 512;  // of them, those whose message is still coming
  std::chrono::milliseconds message_deadline{60'000};  // for a message to come
  uint64_t max_clients = 65536;                        // known at once, see window.h
  // A client that is silent for so long is forgotten, with what is known of its pushes. Clients
  // that send a request again for as long or longer are refused.
  std::chrono::seconds client_expiry{7200};
  std::string faults;  // see fault.h; empty: by the environment variable ARGOSY_PS_FAULTS
};

class ARGOSY_API Server {
 public:
  virtual ~Server();
  virtual int port() const = 0;
  virtual void wait() = 0;                                     // until a client or stop() stops it
  virtual bool wait_for(std::chrono::milliseconds limit) = 0;  // whether it was stopped
  virtual void stop() = 0;                                     // lets calls in progress end
  virtual std::string stats() = 0;                             // JSON
};

// From JSON: the names above, durations in seconds, tables as in config.h (a list, or its text).
// Throw ValueError with the name that is wrong.
ARGOSY_API ServerOptions parse_server_options(std::string_view json);

// Recovers what `directory` has, listens, returns when it serves.
ARGOSY_API std::unique_ptr<Server> serve(const ServerOptions& options);

}  // namespace argosy::ps
