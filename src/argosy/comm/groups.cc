#include "argosy/comm/groups.h"

#include <chrono>
#include <thread>

#include "argosy/comm/error.h"
#include "argosy/op/started.h"

namespace argosy::comm {
namespace {

thread_local Groups* own = nullptr;

[[maybe_unused]] const bool settles = [] {
  op::settle_started = [] { Groups::current().settle(); };
  return true;
}();

}  // namespace

Groups& Groups::current() {
  static auto* const of_process = new Groups();  // threads may outlive static objects
  return own ? *own : *of_process;
}

void Groups::enter(int64_t number, const std::shared_ptr<ProcessGroup>& group) {
  MutexLock lock(mutex_);
  groups_[number] = group;
}

std::shared_ptr<ProcessGroup> Groups::find(int64_t number, const char* what) const {
  std::shared_ptr<ProcessGroup> group;
  {
    MutexLock lock(mutex_);
    if (auto it = groups_.find(number); it != groups_.end()) group = it->second.lock();
  }
  if (group) [[likely]]
    return group;
  throw CommError(Failure::connection,
                  Message() << '[' << what << "] the Program exchanges tensors in group " << number
                            << ": expected this process to be a member of it, got no such group. Do"
                               " this: call "
                            << (number ? "new_group()" : "init_parallel_env()")
                            << " before the Program runs, in the same order as where it was made.");
}

int64_t Groups::begin(std::shared_ptr<ProcessGroup> group, std::shared_ptr<Work> work) {
  MutexLock lock(mutex_);
  started_.emplace(next_, Started{std::move(group), std::move(work), op::run_of_thread});
  return next_++;
}

// It is forgotten once it has ended: a wait that is interrupted leaves it to settle().
void Groups::end(int64_t number) {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    auto it = started_.find(number);
    ARGOSY_CHECK(it != started_.end(), invalid_argument)
        << "[wait] collective " << number
        << " was not started, or was waited for before: expected each to be waited for once. Do "
           "this: pass what its start returned.";
    work = it->second.work;
  }
  const auto forget = [&] {
    MutexLock lock(mutex_);
    started_.erase(number);
  };
  try {
    work->wait();
  } catch (...) {
    if (work->done()) forget();
    throw;
  }
  forget();
}

void Groups::settle() {
  std::vector<Started> started;
  {
    MutexLock lock(mutex_);
    std::erase_if(started_, [&](const auto& entry) {
      if (entry.second.run != op::run_of_thread) return false;
      started.push_back(entry.second);
      return true;
    });
  }
  constexpr std::chrono::seconds kPatience{5};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (const Started& s : started)
    while (!s.work->done()) {
      if (std::chrono::steady_clock::now() > until) s.group->close();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

Groups::Scope::Scope(Groups& groups) : before_(own) {
  own = &groups;
}
Groups::Scope::~Scope() {
  own = before_;
}

}  // namespace argosy::comm
