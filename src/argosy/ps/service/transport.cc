#include "argosy/ps/service/transport.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace argosy::ps {
namespace {

std::atomic<bool> used{false}, in_child{false};

}  // namespace

void mark_used() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (used.load(std::memory_order_relaxed)) in_child.store(true, std::memory_order_relaxed);
    });
  });
  used.store(true, std::memory_order_relaxed);
}

bool forked() {
  return in_child.load(std::memory_order_relaxed);
}

}  // namespace argosy::ps
