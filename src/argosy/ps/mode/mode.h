#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "argosy/ps/config.h"
#include "argosy/ps/remote.h"
#include "argosy/ps/service/client.h"

// How pulls and pushes of a trainer's operations reach the tables.
//
//   local        tables of this process; pushes are applied at once.
//   sync         pushes go out at the end of a step; the servers apply the mean over all workers
//                once each has ended its step, and only then does the step end.
//   half_async   pushes go out at the end of a step, which ends when they are applied; workers do
//                not wait for each other.
//   async        steps wait in a queue of bounded length and are sent by threads; dense parameters
//                are fetched by another one and put in at the start of a step.
//   geo          the worker trains rows and dense parameters of its own; every k_steps steps it
//                tells the servers how far they went, and takes over what others did.
namespace argosy::ps {

class SparseTable;
class DenseTable;

struct ModeOptions {
  std::string mode = "async";  // sync, half_async, async, geo
  std::vector<TableConfig> tables;
  uint32_t workers = 1;
  uint32_t merge = 1;       // async, half_async: at most so many steps are merged into one push
  uint32_t queue = 16;      // async: how many steps may be ahead of the servers
  uint32_t senders = 1;     // async: threads that send
  uint32_t pull_every = 1;  // async: steps sent until dense parameters are fetched again
  uint32_t k_steps = 100;   // geo: steps of this process from exchange to exchange
  // sync: a sparse table with rows of one number that adds; its row 1 belongs to join().
  int64_t state_table = -1;
  std::chrono::milliseconds deadline{60'000};  // of any wait here
};

// After an error in one of its threads every call throws that error: what was pushed may be lost.
class ARGOSY_API Mode : public Remote {
 public:
  // Returns when everything pushed so far is applied (of sync: the steps that were ended).
  virtual void flush() = 0;
  // All workers call it, when they have no more data: flushes, and in sync mode takes part in the
  // steps (with no gradients) that others still make.
  virtual void join() { flush(); }
  // Flushes and ends all threads. May be called again; other calls throw after it. The destructor
  // ends threads without flushing.
  virtual void stop() = 0;
  // A JSON object: steps, waiting, pushes, pulls, keys_pulled, keys_pushed, exchanges.
  virtual std::string stats() = 0;
  // Of local mode: its tables; null in others.
  virtual SparseTable* sparse_table(uint32_t table);
  virtual DenseTable* dense_table(uint32_t table);
  // Of local mode: as Client::save and load. Return rows.
  virtual uint64_t save(const std::string& directory, int mode, const Extent& extent = {});
  virtual uint64_t load(const std::string& directory, int mode, uint32_t table = kAllTables);
};

ARGOSY_API std::shared_ptr<Mode> make_mode(std::shared_ptr<Client> client,
                                           const ModeOptions& options);
ARGOSY_API std::shared_ptr<Mode> make_local(const std::vector<TableConfig>& tables);

// What servers keep for trainers with these tables: in geo mode they only add.
ARGOSY_API std::vector<TableConfig> server_tables(std::vector<TableConfig> tables,
                                                  const std::string& mode);

}  // namespace argosy::ps
