#include "argosy/streamed/queue.h"

#include <pthread.h>

#include <chrono>

namespace argosy::streamed {

Queue::Queue(std::string name, int64_t most_delay_us)
    : thread_(&Queue::run, this, std::move(name), most_delay_us) {}

Queue::~Queue() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t Queue::push(Job job) {
  uint64_t position;
  {
    MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    position = ++pushed_;
  }
  changed_.notify_all();
  return position;
}

uint64_t Queue::pushed() const {
  MutexLock lock(mutex_);
  return pushed_;
}

bool Queue::done(uint64_t position) const {
  MutexLock lock(mutex_);
  return done_ >= position;
}

void Queue::wait(uint64_t position) const {
  WaitLock lock(mutex_);
  changed_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return done_ >= position; });
}

void Queue::run(std::string name, int64_t most_delay_us) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  std::mt19937_64 random(std::hash<std::string>()(name));
  WaitLock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    if (most_delay_us > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(random() % static_cast<uint64_t>(most_delay_us + 1)));
    job();
    job = nullptr;  // what it holds goes before its end is told
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace argosy::streamed
