#include "argosy/ps/service/disk_calls.h"

#include <algorithm>
#include <utility>

namespace argosy::ps {

DiskCalls::DiskCalls(uint32_t threads, std::string tables)
    : tables_(std::move(tables)), running_(threads) {
  for (uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

void DiskCalls::put(Clock::time_point until, Work work, Refuse refuse) {
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      // So much earlier that the refusal arrives in time.
      const auto now = Clock::now();
      waiting_.push_back(
          {until - std::max(until - now, {}) / 4, std::move(work), std::move(refuse)});
      changed_.notify_one();
      return;
    }
  }
  refuse({Code::busy, "the server ends"});
}

void DiskCalls::run() {
  WaitLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    if (stopping_) break;
    Waiting one = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    one.work();
    one = {};
    lock.lock();
  }
  --running_;
  changed_.notify_all();
}

void DiskCalls::tick(Clock::time_point now) {
  std::vector<Waiting> late;
  {
    MutexLock lock(mutex_);
    std::erase_if(waiting_, [&](Waiting& one) {
      if (one.until > now) return false;
      late.push_back(std::move(one));
      return true;
    });
  }
  for (Waiting& one : late)
    one.refuse({Code::busy, "all threads for rows on disk (" + tables_ +
                                ") are in calls that came before: the disk is slow or hangs. Do "
                                "this: look at its health"});
}

bool DiskCalls::stop(std::chrono::milliseconds limit) {
  std::deque<Waiting> left;
  bool ended;
  {
    WaitLock lock(mutex_);
    stopping_ = true;
    left.swap(waiting_);
    changed_.notify_all();
    lock.unlock();
    for (Waiting& one : left) one.refuse({Code::busy, "the server ends"});
    lock.lock();
    ended = changed_.wait_for(lock, limit, [&]() ARGOSY_REQUIRES(mutex_) { return running_ == 0; });
  }
  if (!ended) return false;
  for (std::thread& t : threads_)
    if (t.joinable()) t.join();
  return true;
}

}  // namespace argosy::ps
