#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "argosy/base/export.h"

namespace argosy::comm {

// Connects ranks of one host and gives them memory that all of them see. What is done with the
// memory is above: Board, collectives, Exchange. One Engine for each rank.
//
// Threads: all calls, by any thread.
class ARGOSY_API Engine {
 public:
  virtual ~Engine();
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;
  // The same bytes for every rank that asks for this offset, zeros at first. Offsets are multiples
  // of a page and areas do not overlap. Stays mapped as long as the result is held.
  virtual std::shared_ptr<char> share(uint64_t offset, size_t bytes) = 0;
  // Where this process sees the tensors of a rank that all see: its gradients, say
  // (memory::allocate_shared). Offsets in there mean the same for all. Empty where it sees none.
  struct Area {
    uintptr_t begin = 0;
    size_t bytes = 0;
  };
  virtual Area tensors(int rank) = 0;
  // Whether a rank's process (thread) has ended or closed its Engine. Costs a system call.
  virtual bool gone(int rank) = 0;
};

}  // namespace argosy::comm
