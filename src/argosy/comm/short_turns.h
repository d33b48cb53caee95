#pragma once

namespace argosy::comm {

// Lets the calling thread have the processor soon after it wakes, for short turns, where others
// compute: a kernel that knows that (Linux 6.12) gives it no more of the processor in all, and
// wants no rights for it. Elsewhere nothing changes.
void take_short_turns();

}  // namespace argosy::comm
