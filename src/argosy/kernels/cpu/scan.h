#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Cumulative operations along one axis: tensors are contiguous [outer, n, inner], along n.
namespace argosy::cpu {

enum class Scan : uint8_t {
  sum,        // numeric; the output may be the input
  prod,       //
  logsumexp,  // floating
};
// 16-bit floats accumulate in float32, float32 in double; integers wrap.
ARGOSY_API void scan(Scan kind, DType type, const void* x, void* y, int64_t outer, int64_t n,
                     int64_t inner, bool exclusive = false, bool reverse = false);
// Running extreme and the index where it was met last; nan stays once it was met. Real dtypes.
ARGOSY_API void scan_extreme(bool largest, DType type, const void* x, void* y, DType index_type,
                             void* index, int64_t outer, int64_t n, int64_t inner);

}  // namespace argosy::cpu
