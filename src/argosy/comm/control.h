#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/error.h"

namespace argosy::comm {

// What ranks without common memory tell each other beside their tensors. Ranks here are numbers
// among all.
//
// Threads: all calls.
class ARGOSY_API Control {
 public:
  struct Notice {
    Failure failure;
    std::string text;
  };
  // A rank that waits, and since when nothing moved.
  struct Waiting {
    int rank = 0;
    uint64_t sequence = 0;  // of the collective
  };
  virtual ~Control();

  // Posts what a group failed by unless it has failed before; afterwards `failure` gives the first.
  virtual void post(uint32_t group, Failure failure, const std::string& text) noexcept = 0;
  // The group's failure, null if there is none. Cheap.
  virtual std::shared_ptr<const Notice> failure(uint32_t group) const = 0;
  virtual void leave(uint32_t group) noexcept = 0;
  virtual bool left(uint32_t group, int rank) const = 0;
  // Whether its process has ended, or is silent for so long that it is taken for dead. Cheap.
  virtual bool gone(int rank) const = 0;
  // For how many seconds it had been silent when it was taken for dead; 0: its process has ended.
  virtual double silence(int) const { return 0; }
  // What other ranks said before now is known afterwards.
  virtual void refresh() noexcept = 0;
  // This rank waits in a collective of the group, and has for some time.
  virtual void waits(uint32_t group, uint64_t sequence) noexcept = 0;
  virtual std::vector<Waiting> waiting(uint32_t group) noexcept = 0;
};

}  // namespace argosy::comm
