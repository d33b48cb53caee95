#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "argosy/base/export.h"

namespace argosy::streamed {

// A position in a stream: the number of the stream in the process, and its jobs counted from 1.
struct Moment {
  uint32_t stream = 0;
  uint64_t position = 0;
};

// A vector clock: up to which position of each stream everything is known to be done before.
class ARGOSY_API Clock {
 public:
  bool covers(Moment m) const {
    return !m.position || (m.stream < positions_.size() && positions_[m.stream] >= m.position);
  }
  void add(Moment m);
  void add(const Clock& other);
  const std::vector<uint64_t>& positions() const { return positions_; }  // by stream

 private:
  std::vector<uint64_t> positions_;
};

// Bytes that an operation uses.
struct Use {
  uintptr_t begin = 0, end = 0;
  bool writes = false;
};

// An operation in a stream. `before` is its clock, itself left out.
struct Operation {
  const char* name;  // lives as long as the process
  Moment at;
  const Clock& before;
};

// Who used which bytes of which block, and whether events put that in order. What is missing is
// found when an operation is enqueued, whatever the time at which the queues come to it. Not
// synchronized.
class ARGOSY_API Ledger {
 public:
  // The memory may have been used by everything in the stream up to `at`.
  void open(uintptr_t begin, size_t bytes, Moment at);
  // Someone promises that work of `stream` is waited for before the block is used again.
  void record_use(uintptr_t address, uint32_t stream);

  // Empty, or what is wrong with the operation's uses, naming both ops. Notes them where nothing
  // is.
  std::string use(const Operation& operation, const std::vector<Use>& uses);

  struct Closing {
    std::vector<Moment> wait_for;  // before the memory goes
    std::string wrong;             // a use that nothing orders before the release
  };
  // The block's own stream releases it; `before` is that stream's clock.
  Closing close(uintptr_t begin, const Clock& before);
  uint32_t stream_of(uintptr_t begin);  // of a block that is open

  // Of each open block: who wrote to it last.
  struct Held {
    const char* writer;
    size_t bytes;
    uint32_t stream;
  };
  std::vector<Held> held() const;

 private:
  struct Past {
    Use use;
    Moment at;
    const char* name;
  };
  struct Block {
    uintptr_t end;
    uint32_t stream;
    std::vector<uint32_t> users;  // streams that record_use named
    std::vector<Past> past;
  };
  using Blocks = std::map<uintptr_t, Block>;  // by first address

  Blocks::iterator find(uintptr_t address);
  std::string conflict(const Operation& operation, const Use& use, const Block& block) const;
  static void note(const Operation& operation, const Use& use, Block& block);

  Blocks blocks_;
};

}  // namespace argosy::streamed
