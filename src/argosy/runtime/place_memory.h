#pragma once

#include <cstdint>
#include <vector>

#include "argosy/runtime/memory_plan.h"
#include "argosy/runtime/plan.h"

// Where in its arenas the memory of a plan lies, and so which steps may run at the same time.
namespace argosy::runtime {

// What of a block lies in arenas: slots, and the memory of blocks of its steps.
struct BlockMemory {
  struct Item {
    Buffer buffer;  // steps are counted from the block's first
    uint32_t home;  // which arena
    uint32_t slot;  // kNone: a block
    uint32_t block;
  };
  void add(const Plan& plan, uint32_t slot, uint32_t first, uint32_t last);
  void add_block(const Plan& plan, uint32_t block, uint32_t at);

  std::vector<Item> items;
  std::vector<Placement> placements;  // in each arena; found by place_memory
};

struct PlacedMemory {
  size_t bytes = 0;        // of all arenas
  size_t lower_bound = 0;  // most bytes that live at once, added up over arenas
  size_t parallel = 0;     // steps in segments that several threads run
};

// Sets the offsets of slots, sizes of arenas, segments of blocks and spare memory of steps, whose
// costs are known. blocks: of each of the plan's.
PlacedMemory place_memory(Plan& plan, std::vector<BlockMemory>& blocks, Parallel mode);

}  // namespace argosy::runtime
