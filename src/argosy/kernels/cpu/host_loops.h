#pragma once

#include "argosy/kernels/cpu/loops.h"

// Loop tables that only CPUs have, beside those of elementwise.h: other devices do without, so an
// op that takes one says nothing of `on_loops`, or asks for the place first. One input unless
// noted; numbers in LoopParams.
namespace argosy::cpu {

// clang-format off
#define ARGOSY_HOST_LOOPS(X)                                                                       \
  X(whole_power)                  /* x^a, a of -3, -2, 3, 4, 5; integers wrap: 3, 4, 5 */          \
  X(nan_to_num)                   /* floating: a for nan, b for inf, c for -inf */                 \
  X(huber)                        /* floating, two inputs: d = x - y, cut = d within a: b * cut * (d - cut / 2) */
// clang-format on

struct HostLoops {
#define ARGOSY_FIELD(name) LoopTable name;
  ARGOSY_HOST_LOOPS(ARGOSY_FIELD)
#undef ARGOSY_FIELD
};

namespace avx2 {
extern const HostLoops host_loops;
}
namespace avx512 {
extern const HostLoops host_loops;
}

// Those of isa().
const HostLoops& host_loops();

}  // namespace argosy::cpu
