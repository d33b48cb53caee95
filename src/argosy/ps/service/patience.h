#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

namespace argosy::ps {

// How long a caller waits for an answer: until a time, and not once it has gone.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  using Gone = std::shared_ptr<const std::atomic<bool>>;
  // `gone` may be null: then nobody knows.
  Patience(Clock::time_point until, Gone gone = nullptr)  // NOLINT: a time is patience enough
      : until_(until), gone_(std::move(gone)) {}
  Clock::time_point until() const { return until_; }
  bool is_over(Clock::time_point now) const {
    return until_ <= now || (gone_ && gone_->load(std::memory_order_relaxed));
  }
  Patience at_most(Clock::duration from_now) const {
    return {std::min(until_, Clock::now() + from_now), gone_};
  }

 private:
  Clock::time_point until_;
  Gone gone_;
};

}  // namespace argosy::ps
