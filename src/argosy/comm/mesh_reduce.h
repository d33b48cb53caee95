#pragma once

#include <functional>

#include "argosy/comm/talk.h"

namespace argosy::comm {

// What a collective of which an all_reduce is a part does beside it, on stretches of its bytes:
// `before` one is read first, and `after` it has its result. So a stretch may be worked on while
// others are exchanged. Calls come in an order that depends on sizes and `extent` alone.
struct Beside {
  // Bytes that stretches are cut of, at least those of the all_reduce: what lies behind these is
  // for `before` and `after` only.
  size_t extent = 0;
  std::function<void(size_t begin, size_t bytes)> before, after;
};

// Reductions over links. Each element is reduced by one rank, in the order of ranks, from what the
// ranks had: so results are those of Board bit for bit, 16-bit numbers are rounded once, and all
// ranks get the same. Those that pass partial sums on have an order of their own (choice.h).
void all_reduce(Mesh& mesh, Talk& talk, const Job& job, const Beside& beside = {});
// The calls of `beside` alone, in the order of an all_reduce between `ranks` ranks: for who takes
// no part in it, but in what is done beside it. wanted: the mesh's algorithm.
void follow(int ranks, Algorithm wanted, DType dtype, const Beside& beside);
void reduce(Mesh& mesh, Talk& talk, const Job& job);
void reduce_scatter(Mesh& mesh, Talk& talk, const Job& job);

// By one of the ways of choice.h, whatever the size. REQUIRES: two ranks at least.
void all_reduce_ring(Mesh& mesh, Talk& talk, const Job& job);
void all_reduce_doubling(Mesh& mesh, Talk& talk, const Job& job);
void all_reduce_halving(Mesh& mesh, Talk& talk, const Job& job);
void all_reduce_tree(Mesh& mesh, Talk& talk, const Job& job);

}  // namespace argosy::comm
