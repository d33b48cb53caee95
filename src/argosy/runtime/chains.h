#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/runtime/place_memory.h"
#include "argosy/runtime/plan.h"

// Which steps a device may run as one: neighbours whose kernels only run loop tables and whose
// results have one shape.
namespace argosy::runtime {

// Puts elementwise operations right behind the one whose result they alone read, of the same form,
// where what stands between is independent of them: so more steps are neighbours. They take over
// its memory, so nothing lives longer but what the others make in the meantime. For a place whose
// device has chains.
void bring_together(program::Program& program, Place place);

// Finds the chains of a plan, on a place whose device has them, and sets
// Step::unread. last: of each slot, the last step that may read what it has at the end of a chain;
// kNone: it may be read at any time.
void find_chains(Plan& plan, std::span<const uint32_t> last);

// Places the plan's memory. What a chain reads or writes is not used again within it where that
// takes no more memory: a device that runs its steps as one would have to cut it there.
PlacedMemory place_with_chains(Plan& plan, std::vector<BlockMemory>& blocks, Parallel mode);

}  // namespace argosy::runtime
