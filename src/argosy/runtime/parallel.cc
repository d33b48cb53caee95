#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "argosy/base/parallel.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/started.h"
#include "argosy/runtime/frame.h"

// A segment of independent branches: ready steps in a heap by priority, taken by the threads of the
// one pool. A thread that ends a step goes on with the best of those it made ready and puts the
// rest into the heap; one that finds nothing polls for a while, then sleeps.
namespace argosy::runtime {
namespace {

// Orders the heap: the longest chain behind it first.
struct Later {
  const std::vector<Node>& nodes;
  bool operator()(uint32_t a, uint32_t b) const {
    const double pa = nodes[a].priority, pb = nodes[b].priority;
    return pa != pb ? pa < pb : a > b;
  }
};

class Walk {
 public:
  Walk(const BlockPlan& plan, const Segment& segment, std::atomic<int32_t>* waits)
      : plan_(plan), waits_(waits) {
    left_.store(segment.end - segment.begin, std::memory_order_relaxed);
    for (uint32_t i = segment.begin; i < segment.end; ++i) {
      waits_[i].store(static_cast<int32_t>(plan.nodes[i].waits_for), std::memory_order_relaxed);
      if (plan.nodes[i].waits_for == 0) ready_.push_back(i);
    }
    std::make_heap(ready_.begin(), ready_.end(), Later{plan_.nodes});
    queued_.store(ready_.size(), std::memory_order_relaxed);
  }

  // Until the segment has ended. run(step) may throw.
  template <class Run>
  void work(Run run) {
    uint32_t step = kNone;
    for (;;) {
      if (step == kNone && !take(&step)) return;
      try {
        run(step);
      } catch (...) {
        fail(step);
        return;
      }
      step = finish(step);
    }
  }

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool over() const { return left_.load(std::memory_order_acquire) == 0 || stop_.load(); }

  bool take(uint32_t* step) {
    for (;;) {
      if (over()) return false;
      if (queued_.load(std::memory_order_relaxed)) {
        std::lock_guard lock(mutex_);
        if (!ready_.empty()) {
          std::pop_heap(ready_.begin(), ready_.end(), Later{plan_.nodes});
          *step = ready_.back();
          ready_.pop_back();
          queued_.store(ready_.size(), std::memory_order_relaxed);
          return true;
        }
      }
      if (wait()) continue;
    }
  }

  // Polls, then sleeps until there may be something to do.
  bool wait() {
    constexpr uint64_t kCycles = 250000;
    auto more = [&] { return queued_.load(std::memory_order_relaxed) || over(); };
    const uint64_t start = __rdtsc();
    for (int round = 0; __rdtsc() - start < kCycles; ++round, _mm_pause()) {
      if (more()) return true;
      // Whom this waits for may stand in line for this very core.
      if (round % 32 == 31) sched_yield();
    }
    std::unique_lock lock(mutex_);
    ++sleepers_;
    changed_.wait(lock, more);
    --sleepers_;
    return true;
  }

  // The best step that this one made ready, or kNone.
  uint32_t finish(uint32_t step) {
    uint32_t mine = kNone;
    InlineVector<uint32_t, 8> others;
    const Node& node = plan_.nodes[step];
    for (uint32_t k = node.begin; k < node.end; ++k) {
      const uint32_t next = plan_.successors[k];
      if (waits_[next].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (mine == kNone)
        mine = next;
      else
        others.push_back(next);
    }
    const bool last = left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (others.empty() && !last) return mine;
    std::lock_guard lock(mutex_);
    for (uint32_t other : others) {
      ready_.push_back(other);
      std::push_heap(ready_.begin(), ready_.end(), Later{plan_.nodes});
    }
    queued_.store(ready_.size(), std::memory_order_relaxed);
    if (sleepers_) changed_.notify_all();
    return mine;
  }

  // The error of the earliest step is the one that is told.
  void fail(uint32_t step) {
    std::lock_guard lock(mutex_);
    if (!error_ || step < failed_) {
      error_ = std::current_exception();
      failed_ = step;
    }
    stop_.store(true);
    changed_.notify_all();
  }

  const BlockPlan& plan_;
  std::atomic<int32_t>* const waits_;
  std::atomic<uint32_t> left_{0};
  std::atomic<size_t> queued_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint32_t> ready_;  // guarded by mutex_
  int sleepers_ = 0;             // guarded by mutex_
  std::exception_ptr error_;     // guarded by mutex_
  uint32_t failed_ = 0;          // guarded by mutex_
};

}  // namespace

void Frame::run_parallel(const BlockPlan& block, const Segment& segment) {
  Walk walk(block, segment, waits_.get() + block.begin);
  auto body = [&](int64_t, int64_t) {
    op::GradMode off(false);
    const op::RunScope scope(this);
    const Place before = op::thread_state.place;
    op::thread_state.place = plan.place;
    walk.work([&](uint32_t i) { run_guarded(steps_[block.begin + i]); });
    op::thread_state.place = before;
  };
  parallel_for(segment.threads, 1, body);
  walk.rethrow();
}

}  // namespace argosy::runtime
