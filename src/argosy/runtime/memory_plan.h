#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/base/parallel.h"

// Offsets in one arena for buffers whose lifetimes are known: no two that live at the same time may
// overlap.
namespace argosy::runtime {

struct Buffer {
  size_t bytes = 0;              // in whole units of memory::kAlignment
  uint32_t first = 0, last = 0;  // steps at which it lives, both inclusive
  size_t offset = 0;             // what place_buffers finds
};

struct Placement {
  size_t lower_bound = 0;  // most bytes that live at once: no placement needs less
  size_t bytes = 0;        // of the arena
};

// may_follow(earlier, later): may buffer `later` take the place of `earlier`, which lives no
// longer? Null: always.
using MayFollow = FunctionRef<bool(uint32_t, uint32_t)>;
ARGOSY_API Placement place_buffers(std::vector<Buffer>& buffers,
                                   const MayFollow* may_follow = nullptr);

}  // namespace argosy::runtime
