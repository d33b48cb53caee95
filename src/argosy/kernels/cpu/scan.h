#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Cumulative operations and ordering along one axis: tensors are contiguous [outer, n, inner],
// along n. nan is greater than everything, as in NumPy.
namespace argosy::cpu {

enum class Scan : uint8_t {
  sum,        // numeric; the output may be the input
  prod,       //
  logsumexp,  // floating
};
// 16-bit floats accumulate in float32, float32 in double; integers wrap.
ARGOSY_API void scan(Scan kind, DType type, const void* x, void* y, int64_t outer, int64_t n,
                     int64_t inner, bool exclusive = false, bool reverse = false);
// Running extreme and the index where it was met last. Real dtypes.
ARGOSY_API void scan_extreme(bool largest, DType type, const void* x, void* y, DType index_type,
                             void* index, int64_t outer, int64_t n, int64_t inner);

// Stable sort; `values` or `index` (int64) may be null. Real dtypes and bool; n below 2^32. Values
// may not replace x.
ARGOSY_API void sort(DType type, const void* x, void* values, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner, bool descending);
// The k largest or smallest in order, ties by position; outputs are [outer, k, inner].
ARGOSY_API void topk(DType type, const void* x, void* values, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner, int64_t k, bool largest);
// For each of values[outer, m]: how many of sorted[outer, n] come before it (or before or with it
// if `right`). sorted_rows is outer or 1 (one sequence for all).
ARGOSY_API void searchsorted(DType type, const void* sorted, const void* values, DType index_type,
                             void* index, int64_t outer, int64_t sorted_rows, int64_t n, int64_t m,
                             bool right);

}  // namespace argosy::cpu
