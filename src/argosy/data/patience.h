#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace argosy::data {

// How long a wait may last that sees no progress.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  // Infinity: no end.
  explicit Patience(double seconds) : seconds_(seconds) { restart(); }

  void restart() {  // there was progress
    const std::chrono::duration<double> limit(seconds_);
    end_ = seconds_ < kForEver ? Clock::now() + std::chrono::duration_cast<Clock::duration>(limit)
                               : Clock::time_point::max();
  }
  bool over() const { return Clock::now() >= end_; }
  Clock::time_point end() const { return end_; }
  double seconds() const { return seconds_; }
  double left() const {  // of them
    if (seconds_ >= kForEver) return seconds_;
    return std::max(std::chrono::duration<double>(end_ - Clock::now()).count(), 0.0);
  }

  // What is left, for poll; a part of the whole at most, for who has to look at other things too.
  int milliseconds(double part = 1) const {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(end_ - Clock::now()).count();
    const double most = std::min(std::max(seconds_ * part * 1e3, 1.0), 1e9);
    return static_cast<int>(std::clamp<double>(static_cast<double>(left), 0, most));
  }

 private:
  static constexpr double kForEver = 1e9;
  double seconds_;
  Clock::time_point end_;
};

// The limit of those who wait for a stream's reader: longer than the stream's, whose error says
// more.
inline double later(double timeout) {
  return timeout + std::min(timeout, 10.0);
}
// For threads that were told to end, and before that for the processes that they killed.
inline constexpr double kGrace = 10, kKillGrace = 5;

// The end of the errors that say that a limit has passed.
inline constexpr const char* kLongerLimit =
    "or set a longer limit: timeout=SECONDS in the data set's init, or ARGOSY_DATA_TIMEOUT in the "
    "environment; inf is none.";

}  // namespace argosy::data
