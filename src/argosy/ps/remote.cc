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
