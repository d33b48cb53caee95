#include "argosy/ps/service/client_save.h"

#include "argosy/ps/service/durability.h"

namespace argosy::ps {

using std::chrono::milliseconds;

// So that one may get lost.
constexpr milliseconds kEvery = kSaveLease / 4;

KeptSave::KeptSave(Calls* calls, uint64_t save)
    : calls_(*calls), save_(save), thread_([this] { run(); }) {}

KeptSave::~KeptSave() {
  {
    MutexLock guard(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void KeptSave::run() {
  WaitLock lock(mutex_);
  while (!ends_.wait_for(lock, kEvery, [&]() ARGOSY_REQUIRES(mutex_) { return ended_; })) {
    lock.unlock();
    std::vector<Exchange> exchanges;
    for (uint32_t s = 0; s < calls_.servers(); ++s) {
      exchanges.push_back(calls_.exchange(s, Method::save));
      exchanges.back().header.phase = SavePhase::keep;
      exchanges.back().header.save = save_;
    }
    calls_.attempt(exchanges, kEvery / 2);
    lock.lock();
  }
}

}  // namespace argosy::ps
