#include "argosy/ps/table/readers.h"

#include <algorithm>
#include <system_error>

namespace argosy::ps {

Readers::~Readers() {
  {
    MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Readers::run_one(Open* open) {
  const size_t part = open->next++;
  ++open->running;
  if (open->next == open->parts) std::erase(open_, open);
  mutex_.unlock();
  open->job->run(part);
  mutex_.lock();
  if (--open->running == 0 && open->next == open->parts) open->done.notify_all();
}

void Readers::run(size_t parts, Job* job) {
  if (parts <= 1) {
    if (parts) job->run(0);
    return;
  }
  Open open;
  open.job = job;
  open.parts = parts;
  WaitLock lock(mutex_);
  try {
    while (threads_.size() < std::min(wanted_, parts - 1)) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::system_error&) {  // fewer do
  }
  open_.push_back(&open);
  if (parts > wanted_) {
    wake_.notify_all();
  } else {
    for (size_t i = 1; i < parts; ++i) wake_.notify_one();
  }
  while (open.next < parts) run_one(&open);
  open.done.wait(lock, [&] { return open.running == 0; });
}

void Readers::work() {
  WaitLock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return stopping_ || !open_.empty(); });
    if (stopping_) return;
    run_one(open_.front());
  }
}

}  // namespace argosy::ps
