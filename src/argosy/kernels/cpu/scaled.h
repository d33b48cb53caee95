#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"

namespace argosy::cpu {

// to[rows, columns] = from times by[i * row_step + j * column_step], steps of 0 or 1: multiplied in
// float64 and rounded once to `dtype`, a floating one. `to` may be `from`.
ARGOSY_API void scale_in_float64(DType dtype, int64_t rows, int64_t columns, const void* from,
                                 const double* by, int64_t row_step, int64_t column_step, void* to);

}  // namespace argosy::cpu
