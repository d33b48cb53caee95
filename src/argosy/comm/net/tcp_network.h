#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/links.h"
#include "argosy/comm/net/store_client.h"

namespace argosy::comm::net {

struct TcpOptions {
  int rank = 0;
  int size = 1;
  std::string master;     // the store's address
  std::string token;      // the job's secret, may be empty
  std::string host;       // what tells hosts apart; this_host() unless somebody knows better
  std::string interface;  // ARGOSY_SOCKET_IFNAME; empty: by which the store is reached
  std::string job;        // keeps the keys of jobs that share a store apart
  bool served = false;    // somebody else keeps the store: else rank 0 starts it
  double seconds = 300;
};

// Where all ranks are, as their options say: known when all have come.
struct Meeting {
  std::shared_ptr<StoreClient> store;
  std::vector<std::string> hosts;  // of each rank
};
// Waits for all ranks at the job's store, which rank 0 starts unless it is served.
ARGOSY_API Meeting meet(const TcpOptions& options);

// Ranks of any hosts, connected by TCP: each pair by its own connections, made when a group is
// made, over which both ends have proved that they have the job's token. What ranks tell each other
// beside goes through the store. Throws CommError.
ARGOSY_API std::shared_ptr<Network> connect_tcp_network(const TcpOptions& options,
                                                        std::shared_ptr<StoreClient> store);

}  // namespace argosy::comm::net
