#pragma once

#include <cstdint>
#include <span>

#include "argosy/base/export.h"

// Packing by masks. A mask is n bytes, true where not 0; elements keep their order.
namespace argosy::cpu {

ARGOSY_API int64_t count_true(const bool* mask, int64_t n);

// The coordinates of the true elements of a mask of `shape` (1 or more dimensions): coordinate d of
// the k-th one goes to to[d][k * step]. There is room for count_true of them.
ARGOSY_API void true_places(const bool* mask, std::span<const int64_t> shape, int64_t* const* to,
                            int64_t step);

// source has n rows of row_bytes; those where the mask is true go to target, one after the other.
ARGOSY_API void select_true(void* target, const bool* mask, int64_t n, const void* source,
                            int64_t row_bytes);
// The reverse: rows of `source` go in order to the places where the mask is true, zeros elsewhere.
ARGOSY_API void spread_true(void* target, const bool* mask, int64_t n, const void* source,
                            int64_t row_bytes);

}  // namespace argosy::cpu
