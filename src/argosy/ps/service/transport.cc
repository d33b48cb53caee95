#include "argosy/ps/service/transport.h"

#include <pthread.h>

#include <atomic>

namespace argosy::ps {
namespace {

std::atomic<bool> used{false}, in_child{false};

}  // namespace

void mark_used() {
  // (Not std::call_once: it would tie this library to the thread-local storage of libstdc++.)
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (used.load(std::memory_order_relaxed)) in_child.store(true, std::memory_order_relaxed);
  });
  (void)registered;
  used.store(true, std::memory_order_relaxed);
}

bool forked() {
  return in_child.load(std::memory_order_relaxed);
}

}  // namespace argosy::ps
