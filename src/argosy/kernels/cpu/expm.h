#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Exponentials of matrices by scaling and squaring with Pade's approximation of order 13 (Higham,
// "The scaling and squaring method for the matrix exponential revisited", 2005): float32, float64,
// complex64, complex128; row major and packed. Each matrix is scaled by its own norm, so its result
// does not depend on its neighbours. A matrix that is not finite gives NaN.
namespace argosy::cpu {

// out [batch, n, n] may not overlap a.
ARGOSY_API void matrix_exp(DType dtype, int64_t batch, int64_t n, const void* a, void* out);

}  // namespace argosy::cpu
