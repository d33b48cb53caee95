#pragma once

#include <memory>
#include <string>

#include "argosy/comm/engine.h"

namespace argosy::comm {

struct ShmOptions {
  int rank = 0;
  int size = 1;
  std::string name;   // of the job on this host, the same for its ranks: where they meet
  std::string token;  // the job's secret, may be empty
  std::string host;   // what tells hosts apart; this_host() unless somebody knows better
  double seconds = 300;
  int first = 0;               // which of all ranks of the job rank 0 is, for texts
  bool several_hosts = false;  // somebody has said that the job has several, and who is on this one
};

// Processes of one host and one user. The memory is a memfd of rank 0, so it has no name, needs no
// /dev/shm and is gone with its processes. Rank 0 waits for the others at an abstract socket, which
// only processes of its network namespace reach; who has another user or another token is turned
// away. With the memory, each rank gets a descriptor of every other process that tells its end.
// Throws CommError.
ARGOSY_API std::shared_ptr<Engine> connect_shm(const ShmOptions& options);

// Boot and network namespace of this process.
ARGOSY_API std::string this_host();

}  // namespace argosy::comm
