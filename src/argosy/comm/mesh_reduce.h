#pragma once

#include "argosy/comm/talk.h"

namespace argosy::comm {

// Reductions over links. Each element is reduced by one rank, in the order of ranks, from what the
// ranks had: so results are those of Board bit for bit, 16-bit numbers are rounded once, and all
// ranks get the same. The ring passes partial sums on, in an order of its own.
void all_reduce(Mesh& mesh, Talk& talk, const Job& job);
void reduce(Mesh& mesh, Talk& talk, const Job& job);
void reduce_scatter(Mesh& mesh, Talk& talk, const Job& job);

}  // namespace argosy::comm
