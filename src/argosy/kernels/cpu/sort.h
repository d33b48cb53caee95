#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Ordering along one axis: tensors are contiguous [outer, n, inner], along n. nan is greater than
// everything, as in NumPy.
namespace argosy::cpu {

// Stable sort; `values` or `index` (int64) may be null. Real dtypes and bool; n below 2^32. Values
// may not replace x.
ARGOSY_API void sort(DType type, const void* x, void* values, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner, bool descending);
// The k largest or smallest in order, ties by position; outputs are [outer, k, inner].
ARGOSY_API void topk(DType type, const void* x, void* values, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner, int64_t k, bool largest);
// Where the elements of one row are that a stable ascending sort puts at `ranks`, which ascend
// without repeats. Floating dtypes.
ARGOSY_API void select(DType type, const void* row, int64_t n, const int64_t* ranks, int64_t count,
                       int64_t* position);
// The most frequent element of each row, the smallest of several, and its last place; outputs are
// [outer, inner]. n > 0. nan is equal to nan, -0 to 0.
ARGOSY_API void mode(DType type, const void* x, void* values, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner);
// For each of values[outer, m]: how many of sorted[outer, n] come before it (or before or with it
// if `right`). sorted_rows is outer or 1 (one sequence for all).
ARGOSY_API void searchsorted(DType type, const void* sorted, const void* values, DType index_type,
                             void* index, int64_t outer, int64_t sorted_rows, int64_t n, int64_t m,
                             bool right);

}  // namespace argosy::cpu
