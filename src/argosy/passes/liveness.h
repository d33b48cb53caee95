#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "argosy/program/program.h"

// What a run of a Program holds in memory, estimated: for passes that trade work for memory. Plans
// place buffers by themselves (runtime/), in the same order of operations.
namespace argosy::passes {

struct ARGOSY_API Liveness {
  // The operations of the main block run in order; a value is there from the one that makes it to
  // the last that reads it or a view of it. Feeds, state and constants are not counted. A size that
  // is not known counts as `unknown`.
  explicit Liveness(const program::Program& p, int64_t unknown = 16);

  size_t peak = 0;
  size_t at = 0;               // the operation during which there is most
  std::vector<int64_t> bytes;  // during each operation
  std::vector<int32_t> begin;  // by id: operation that makes it; -1: before the run
  std::vector<int32_t> end;    // by id: last operation that reads it or a view of it, or begin
  std::vector<uint32_t> root;  // by id: the value whose memory it shares
  std::vector<int64_t> size;   // by id: bytes of its memory; 0 for views
};

ARGOSY_API int64_t bytes_of(const program::Value& v, int64_t unknown = 16);

}  // namespace argosy::passes
