#pragma once

#include "argosy/ops/linalg/linalg.h"

// How operands of a product lie in memory, for kernels of any device.
namespace argosy::ops {

// Shapes as matrices: vectors get a dimension of 1 (which the result drops again).
struct Matrices {
  Shape x, y;  // ranks >= 2, not transposed
  int64_t m, n, k, k_of_y;
  Shape batch;  // broadcast
  bool x_vector, y_vector;
};

// Throws, naming `op`, for shapes that do not fit.
ARGOSY_API Matrices matrices(const char* op, const Shape& x, const Shape& y, const MatmulAttrs& a);

// A matrix stack as gemm takes it: rows of consecutive elements, maybe stored transposed.
struct Stored {
  Tensor tensor;  // keeps a copy alive
  bool transposed;
  int64_t ld;
  Shape batch_strides;
};

// t as matrices of `shape` (its own, or that of a vector as matrix), and its strides for each
// dimension of `batch`; copies what is stored in neither order.
ARGOSY_API Stored stored(const Tensor& t, const Shape& shape, const Shape& batch, bool transposed);

// Whether linear has a matrix and one bias for each output (or none): what it computes itself. The
// rest is a product and a sum.
ARGOSY_API bool is_usual_linear(const Shape& weight, const Tensor& bias);

}  // namespace argosy::ops
