#include "argosy/ps/remote.h"

#include <mutex>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

struct Current {
  std::mutex mutex;  // guards remote
  std::shared_ptr<Remote> remote;
};

Current& current() {
  static Current* c = new Current;  // outlives threads that still push at exit
  return *c;
}

}  // namespace

Remote::~Remote() = default;

void Remote::prefetch(std::span<const SparsePull>) {}

void Remote::pull_many(std::span<const SparsePull> requests, bool training) {
  for (const SparsePull& r : requests) pull_sparse(r.table, r.keys, r.out, training);
}

void set_remote(std::shared_ptr<Remote> remote) {
  std::lock_guard lock(current().mutex);
  current().remote.swap(remote);
}

std::shared_ptr<Remote> remote() {
  std::lock_guard lock(current().mutex);
  ARGOSY_CHECK(current().remote, runtime)
      << "[parameter_server] this process has no connection to tables. Do this: call "
         "fleet.init_worker() before running the trainer's Program.";
  return current().remote;
}

}  // namespace argosy::ps
