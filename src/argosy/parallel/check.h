#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "argosy/program/program.h"

namespace argosy::parallel {

// The ranks of groups by number; all ranks are group 0, which need not be there.
using GroupRanks = std::map<int64_t, std::vector<int>>;

// Whether Programs that ranks run side by side, programs[r] on rank r, all come to their end: walks
// what they exchange, without running them. Empty if so; else a line for each mistake: ranks that
// disagree about a collective, who waits for what nobody sends, messages that nobody receives.
// The body of a loop counts as run once; branches of an `if` have to exchange the same.
// A send waits for its receiver where more than the room of unread messages would be under way.
ARGOSY_API std::string check_ranks(std::span<const program::Program* const> programs,
                                   const GroupRanks& groups = {});

}  // namespace argosy::parallel
