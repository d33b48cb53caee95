#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "argosy/base/export.h"
#include "argosy/base/mutex.h"

namespace argosy::ps {

// Makes a transport lose, double, delay and reorder messages on purpose, for tests. Off unless a
// text says otherwise (an option of server or client, or the environment variable
// ARGOSY_PS_FAULTS):
//
//   seed=7,lose=0.05,double=0.05,delay=0.05,delay_ms=50
//
// `all=0.05` sets the three chances. A message that is delayed is overtaken by later ones. On the
// client's side a request is lost before it is sent, an answer after it came; on the server's side
// a request before it is looked at, an answer after it was applied. What is lost is never answered.
class ARGOSY_API Faults {
 public:
  // Null: none. ValueError for other texts. `salt` tells two processes with one seed apart.
  static std::unique_ptr<Faults> parse(std::string_view text, uint64_t salt);
  static std::unique_ptr<Faults> of(const std::string& option, uint64_t salt);

  struct Fate {
    bool lose_request = false, lose_answer = false, twice = false;
    std::chrono::milliseconds delay{0};
  };
  Fate draw();

 private:
  double lose_ = 0, twice_ = 0, delay_ = 0;
  int delay_ms_ = 50;
  Mutex mutex_;
  std::mt19937_64 random_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::ps
