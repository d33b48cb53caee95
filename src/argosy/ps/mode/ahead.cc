#include "argosy/ps/mode/ahead.h"

#include <algorithm>
#include <utility>

#include "argosy/ps/mode/step.h"

namespace argosy::ps {

Ahead::Job::Job(std::span<const SparsePull> wanted) {
  for (const SparsePull& r : wanted) parts_.push_back({r.table, {r.keys.begin(), r.keys.end()}});
}

Ahead::Job::~Job() = default;

bool Ahead::Job::fetches(std::span<const SparsePull> requests) const {
  return std::ranges::equal(parts_, requests, [](const Part& p, const SparsePull& r) {
    return p.table == r.table && std::ranges::equal(p.keys, r.keys);
  });
}

void Ahead::start(std::shared_ptr<Job> job) {
  auto entry = std::make_shared<Entry>();
  entry->job = std::move(job);
  MutexLock lock(mutex_);
  if (stopped_) return;
  entries_[std::this_thread::get_id()].push_back(entry);
  queue_.push_back(std::move(entry));
  if (idle_ < queue_.size()) {
    ++idle_;
    threads_.emplace_back([this] { loop(); });
  }
  work_.notify_one();
}

std::shared_ptr<Ahead::Job> Ahead::take(std::span<const SparsePull> requests,
                                        std::chrono::milliseconds deadline) {
  WaitLock lock(mutex_);
  auto found = entries_.find(std::this_thread::get_id());
  if (found == entries_.end()) return nullptr;
  std::shared_ptr<Entry> entry;
  auto& mine = found->second;
  while (!mine.empty() && !entry) {
    if (mine.front()->job->fetches(requests)) entry = std::move(mine.front());
    mine.pop_front();
  }
  if (mine.empty()) entries_.erase(found);
  if (!entry) return nullptr;
  wait_for(done_, lock, deadline, "fetching the rows of the next step",
           [&]() ARGOSY_REQUIRES(mutex_) { return entry->done || stopped_; });
  if (entry->error) std::rethrow_exception(entry->error);
  return entry->done ? std::move(entry->job) : nullptr;
}

void Ahead::loop() {
  WaitLock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return !queue_.empty() || stopped_; });
    if (stopped_) return;
    const std::shared_ptr<Entry> entry = std::move(queue_.front());
    queue_.pop_front();
    --idle_;
    lock.unlock();
    std::exception_ptr error;
    try {
      entry->job->run();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    ++idle_;
    entry->error = std::move(error);
    entry->done = true;
    done_.notify_all();
  }
}

void Ahead::stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    threads.swap(threads_);
  }
  work_.notify_all();
  done_.notify_all();
  for (std::thread& t : threads) t.join();
}

}  // namespace argosy::ps
