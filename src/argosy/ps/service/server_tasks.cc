#include "argosy/ps/service/server_tasks.h"

#include <new>
#include <system_error>
#include <utility>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

constexpr uint32_t kMaxApart = 16;
constexpr uint32_t kMoreFirst = 8;  // beside them

}  // namespace

void refuse(Code code, std::string text) {
  throw Refusal{{code, std::move(text)}};
}

Failure current_failure() {
  try {
    throw;
  } catch (const Refusal& r) {
    return r.failure;
  } catch (const Error& e) {
    // What waited too long, or gave up since the server ends, has changed nothing: it may come
    // again.
    if (e.kind() == ErrorKind::timeout) return {Code::busy, e.what()};
    return {e.kind() == ErrorKind::invalid_argument ? Code::bad_request : Code::failed, e.what()};
  } catch (const std::bad_alloc&) {
    return {Code::failed, "the server is out of memory"};
  } catch (const std::exception& e) {
    return {Code::failed, e.what()};
  }
}

Tasks::Tasks(Durability& durability) : durability_(durability) {
  thread_ = std::thread([this] { run(); });
}

void Tasks::in_pass(Passing how, Work work, Refuse refuse) {
  if (how == Passing::shared && durability_.try_enter()) return work();
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      waiting_.push_back({how, std::move(work), std::move(refuse)});
      changed_.notify_all();
      return;
    }
  }
  refuse({Code::busy, "the server ends"});
}

void Tasks::run() {
  WaitLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    Waiting one = std::move(waiting_.front());
    waiting_.pop_front();
    const bool stopping = stopping_;
    lock.unlock();
    Failure why;
    if (stopping) {
      why = {Code::busy, "the server ends"};
    } else {
      try {
        one.how == Passing::exclusive ? durability_.enter_exclusive() : durability_.enter();
      } catch (...) {
        why = current_failure();
      }
    }
    why ? one.refuse(std::move(why)) : one.work();
    one = {};
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

bool Tasks::apart(Work work, bool first) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || apart_ >= kMaxApart + (first ? kMoreFirst : 0)) return false;
    ++apart_;
  }
  try {
    std::thread([this, work = std::move(work)]() mutable {
      work();
      work = nullptr;
      ended_apart();
    }).detach();
  } catch (const std::system_error&) {
    ended_apart();
    return false;
  }
  return true;
}

void Tasks::ended_apart() {
  MutexLock lock(mutex_);
  --apart_;
  changed_.notify_all();  // stop waits for it
}

bool Tasks::stop(std::chrono::milliseconds limit) {
  if (!thread_.joinable()) return true;
  {
    WaitLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, limit,
                           [&]() ARGOSY_REQUIRES(mutex_) { return ended_ && apart_ == 0; }))
      return false;
  }
  thread_.join();
  return true;
}

}  // namespace argosy::ps
