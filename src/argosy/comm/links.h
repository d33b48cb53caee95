#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "argosy/comm/channel.h"
#include "argosy/comm/control.h"

namespace argosy::comm {

// Collectives and messages have streams of their own, so neither holds up the other.
enum class Lane : uint8_t { collective, message };
inline constexpr size_t kLanes = 2;

// Streams of bytes between the ranks of one group: for each lane, one from each rank to each other.
// Ranks here are numbers in the group.
//
// Threads: one at a time for each lane; `wake` may be called by any.
class ARGOSY_API Links {
 public:
  virtual ~Links();
  // As many bytes as can be moved now, 0 if none.
  virtual size_t put(Lane lane, int peer, std::span<const iovec> from) = 0;
  virtual size_t get(Lane lane, int peer, std::span<const iovec> to) = 0;
  // Whether the stream has ended at the other side: `get` has given all of it.
  virtual bool ended(Lane lane, int peer) const = 0;
  // Until a wish may be granted, `wake` was called since the last wait, or the limit has come.
  virtual void wait(Lane lane, std::span<const Channel::Wish> wishes,
                    std::chrono::milliseconds limit) = 0;
  virtual void wake(Lane lane) = 0;
};

// Connects ranks by links. One for each rank.
class ARGOSY_API Network {
 public:
  virtual ~Network();
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;
  // Called by all members of a group, whose numbers among all ranks are given; throws CommError.
  virtual std::unique_ptr<Links> connect(uint32_t group, const std::vector<int>& ranks, int rank,
                                         double seconds) = 0;
  virtual Control& control() = 0;
};

}  // namespace argosy::comm
