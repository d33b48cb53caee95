#pragma once

#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Elementwise work as NumPy's ufuncs do it: an inner loop over one run of elements, and a planner
// that turns any strided, broadcast operands into few long runs.
namespace argosy::cpu {

// One run of n elements. ptrs: inputs in order, then outputs; strides in bytes, one each (0 =
// broadcast). Loops must be right for any strides and fast for contiguous ones; exact aliasing of
// an input with an output (same pointer and stride) is allowed. params: the op's own, may be null.
using Loop = void (*)(char* const* ptrs, const int64_t* strides, int64_t n, const void* params);

// One Loop for each dtype of the first input; null where it is not defined.
struct LoopTable {
  Loop by_dtype[kDTypeCount] = {};
  constexpr Loop operator[](DType t) const { return by_dtype[static_cast<int>(t)]; }
};

struct Operand {
  void* data;              // first element
  const int64_t* strides;  // in elements, one for each dim of `shape` (0 where broadcast)
  int item_size;
};

// Runs `loop` over all elements of `shape`. Operands: inputs, then outputs. Drops and merges
// dimensions, makes the outputs' innermost the inner one, and splits over the pool by shape alone.
// cost: nanoseconds an element, about, to choose the grain (1 for an add, 10 for an exp).
// At most kMaxLoopRank dimensions and kMaxLoopOperands operands; no overlap of an output with
// another operand but exact aliasing; a broadcast output is an error of the caller; several outputs
// have one layout.
inline constexpr int kMaxLoopRank = 16;
inline constexpr int kMaxLoopOperands = 8;
ARGOSY_API void run_loop(Loop loop, std::span<const int64_t> shape,
                         std::span<const Operand> operands, const void* params = nullptr,
                         double cost = 1);

// The same for operands that are all contiguous (or all of the same dense layout): n elements.
ARGOSY_API void run_loop_flat(Loop loop, int64_t n, std::span<const Operand> operands,
                              const void* params = nullptr, double cost = 1);

}  // namespace argosy::cpu
