#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Moving elements that integers name one by one. Indices are int64; negative ones count from the
// end. Functions that take indices check them: they return the position of one outside [-size,
// size), or -1 if all are good; after a bad one the target holds anything.
namespace argosy::cpu {

// offset[i] = (or += with `add`) index[i] * stride.
ARGOSY_API int64_t index_offsets(int64_t* offset, const int64_t* index, int64_t n, int64_t size,
                                 int64_t stride, bool add);

// target[i] = the row_bytes at source + offset[i] items.
ARGOSY_API void gather_offsets(void* target, const void* source, const int64_t* offset, int64_t n,
                               int64_t item, int64_t row_bytes);
// The reverse; the last one wins where offsets are equal. source_step: bytes from row to row of
// `source`, 0 for one row that goes everywhere. Rows at different offsets must not overlap.
ARGOSY_API void scatter_offsets(void* target, const int64_t* offset, int64_t n, int64_t item,
                                int64_t row_bytes, const void* source, int64_t source_step);
// Adds rows of `width` elements in the order of i, whatever the number of threads.
// REQUIRES: a dtype of numbers.
ARGOSY_API void scatter_add_offsets(DType type, void* target, const int64_t* offset, int64_t n,
                                    int64_t width, const void* source);

// source is [outer, size, inner], index and target [outer, m, inner]:
// target[o, j, i] = source[o, index[o, j, i], i].
ARGOSY_API int64_t take_along(void* target, const void* source, const int64_t* index, int64_t outer,
                              int64_t size, int64_t m, int64_t inner, int64_t item);
// target[o, index[o, j, i], i] = values[o, j, i]; the last of equal ones wins. value_step 0: one
// value for all, else 1.
ARGOSY_API int64_t put_along(void* target, const int64_t* index, const void* values,
                             int64_t value_step, int64_t outer, int64_t size, int64_t m,
                             int64_t inner, int64_t item);
ARGOSY_API int64_t add_along(DType type, void* target, const int64_t* index, const void* values,
                             int64_t value_step, int64_t outer, int64_t size, int64_t m,
                             int64_t inner);
// The same with products, extremes (of nan and a number, nan) or sums, of int32, int64, float32 and
// float64. counts, where given, has for each element of target how many it is made of: where that
// is 0, a value replaces it.
enum class Combine { add, multiply, max, min };
ARGOSY_API int64_t combine_along(DType type, Combine how, void* target, int32_t* counts,
                                 const int64_t* index, const void* values, int64_t value_step,
                                 int64_t outer, int64_t size, int64_t m, int64_t inner);

}  // namespace argosy::cpu
