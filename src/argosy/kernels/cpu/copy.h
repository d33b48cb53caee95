#pragma once

#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Moving items without looking at them. Strides are in items; item sizes are 1, 2, 4, 8 or 16.
// Sources and targets must not overlap.
namespace argosy::cpu {

// target[i...] = source[i...] for all indices below `shape`. Source strides may be 0 or negative.
// Transpositions go by blocks, at the speed of memory.
ARGOSY_API void copy_strided(void* target, const int64_t* target_strides, const void* source,
                             const int64_t* source_strides, std::span<const int64_t> shape,
                             int item_size);

// Position of the first index outside [low, high), or -1. `type` is int32 or int64.
ARGOSY_API int64_t find_bad_index(DType type, const void* index, int64_t n, int64_t low,
                                  int64_t high);

// source is [outer, size, inner_bytes], target [outer, n, inner_bytes]: items of `size` picked by
// index (checked by the caller; negative ones count from the end).
ARGOSY_API void index_select(void* target, const void* source, int64_t outer, int64_t size,
                             int64_t inner_bytes, DType index_type, const void* index, int64_t n);

// target[o, index[i], :] += updates[o, i, :] in the order of i, whatever the number of threads.
// target is [outer, size, inner] of `type` (any numeric dtype), updates [outer, n, inner]. Negative
// indices count from the end. 16-bit targets round after each addition.
ARGOSY_API void scatter_add(DType type, void* target, const void* updates, int64_t outer,
                            int64_t size, int64_t inner, DType index_type, const void* index,
                            int64_t n);

}  // namespace argosy::cpu
