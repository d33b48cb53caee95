#include "argosy/ps/remote.h"

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"

namespace argosy::ps {
namespace {

struct Current {
  Mutex mutex;
  std::shared_ptr<Remote> remote ARGOSY_GUARDED_BY(mutex);
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
  Current& c = current();
  MutexLock lock(c.mutex);
  c.remote.swap(remote);
}

std::shared_ptr<Remote> remote() {
  Current& c = current();
  MutexLock lock(c.mutex);
  ARGOSY_CHECK(c.remote, runtime)
      << "[parameter_server] this process has no connection to tables. Do this: call "
         "fleet.init_worker() before running the trainer's Program.";
  return c.remote;
}

}  // namespace argosy::ps
