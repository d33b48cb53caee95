#pragma once

#include <vector>

#include "argosy/kernels/cpu/linalg.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// What the decompositions share: checks of shapes, and small matrix algebra for gradients.
namespace argosy::ops {

inline constexpr DTypes kDenseReal = only(DType::float32) | only(DType::float64);
inline constexpr DTypes kDense = kDenseReal | kComplex;

void check_matrix(const char* op, const char* name, const Shape& x);
void check_square(const char* op, const char* name, const Shape& x);
// x without its last `count` dimensions.
ARGOSY_API Shape leading(const Shape& x, int count);
int64_t smaller(int64_t m, int64_t n);  // kUnknown if either is
// How many matrices x holds.
ARGOSY_API int64_t matrix_count(const Tensor& x);
// Raises for the first matrix whose info is not 0.
ARGOSY_API void check_info(const char* op, const std::vector<int32_t>& info, const char* what);

Tensor transposed(const Tensor& x);                      // the last two dimensions swapped
Tensor adjoint(const Tensor& x);                         // and conjugated
Tensor times_rows(const Tensor& x, const Tensor& d);     // diag(d) x
Tensor times_columns(const Tensor& x, const Tensor& d);  // x diag(d)
Tensor of_dtype(const Tensor& x, DType dtype);           // cast if it must be
// d_j - d_i at [i, j], and 1 on the diagonal.
Tensor gaps(const Tensor& d);

}  // namespace argosy::ops
