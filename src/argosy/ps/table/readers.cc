#include "argosy/ps/table/readers.h"

#include <algorithm>
#include <system_error>

namespace argosy::ps {

Readers::~Readers() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Readers::run_one(Open* open, std::unique_lock<std::mutex>* lock) {
  const size_t part = open->next++;
  ++open->running;
  if (open->next == open->parts) std::erase(open_, open);
  lock->unlock();
  open->job->run(part);
  lock->lock();
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
  std::unique_lock lock(mutex_);
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
  while (open.next < parts) run_one(&open, &lock);
  open.done.wait(lock, [&] { return open.running == 0; });
}

void Readers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !open_.empty(); });
    if (stopping_) return;
    run_one(open_.front(), &lock);
  }
}

}  // namespace argosy::ps
