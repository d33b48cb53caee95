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
// A long contiguous copy over the pool.
ARGOSY_API void copy_flat(void* target, const void* source, int64_t bytes);

// Sets every element to the item at `value`.
ARGOSY_API void fill_strided(void* target, const int64_t* target_strides,
                             std::span<const int64_t> shape, int item_size, const void* value);
ARGOSY_API void fill_flat(void* target, int64_t n, int item_size, const void* value);

// Position of the first index outside [low, high), or -1. `type` is int32 or int64.
ARGOSY_API int64_t find_bad_index(DType type, const void* index, int64_t n, int64_t low,
                                  int64_t high);

// source is [outer, size, inner_bytes], target [outer, n, inner_bytes]: items of `size` picked by
// index (checked by the caller; negative ones count from the end).
ARGOSY_API void index_select(void* target, const void* source, int64_t outer, int64_t size,
                             int64_t inner_bytes, DType index_type, const void* index, int64_t n);

// Embedding: target[i] = table[index[i]], zeros where index[i] == padding.
// REQUIRES: every index is in [0, rows).
inline constexpr int64_t kNoPadding = INT64_MIN;
ARGOSY_API void gather_rows(void* target, const void* table, int64_t rows, int64_t row_bytes,
                            DType index_type, const void* index, int64_t n,
                            int64_t padding = kNoPadding);

// target[o, index[i], :] += updates[o, i, :] in the order of i, whatever the number of threads.
// target is [outer, size, inner] of `type` (any numeric dtype), updates [outer, n, inner]. Indices
// equal to `padding` are left out; negative ones count from the end.
// 16-bit targets round after each addition.
ARGOSY_API void scatter_add(DType type, void* target, const void* updates, int64_t outer,
                            int64_t size, int64_t inner, DType index_type, const void* index,
                            int64_t n, int64_t padding = kNoPadding);

}  // namespace argosy::cpu
