#include "argosy/comm/futex.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace argosy::comm {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds limit) {
  if (limit.count() <= 0) return;
  timespec t;
  t.tv_sec = limit.count() / 1'000'000'000;
  t.tv_nsec = limit.count() % 1'000'000'000;
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &t, nullptr, 0);
}

void futex_wake_all(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void pause() {
  _mm_pause();
}

}  // namespace argosy::comm
