#pragma once

#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Matrix products, row major. Work is cut into tiles by shape alone, so results do not depend on
// the number of threads.
namespace argosy::cpu {

enum class Activation : uint8_t { none, relu, gelu };

// What happens to C after the product: C = activation(C + bias), bias along N. Or, with a gate,
// C * factor where the gate is greater than 0, else 0.
struct Epilogue {
  const void* bias = nullptr;                // [N] of the product's dtype, or null
  Activation activation = Activation::none;  // real floating dtypes only
  // [M, N] with rows as far apart as C's, which it may be itself; or null. Floating dtypes, with
  // beta 0 and neither bias nor activation. C is rounded before it is multiplied by the factor.
  const void* gate = nullptr;
  double factor = 1;
};

// C[M, N] = alpha * op(A)[M, K] * op(B)[K, N] + beta * C, then the epilogue. op transposes where
// asked: A is stored [M, K], or [K, M] if trans_a, with rows lda apart (in elements); likewise B
// and C. C must not overlap A or B. beta == 0: C is only written, never read (NaN in it vanishes).
// K == 0 gives beta * C.
//
// Dtypes: floating (16-bit ones accumulate in float32 and round once), complex (no conjugation),
// integral (wraps on overflow; alpha and beta are truncated to integers).
ARGOSY_API void gemm(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                     double alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                     double beta, void* c, int64_t ldc, const Epilogue& epilogue = {});

// One product for each index of `batch`; strides in elements, one for each batch dim (0 to use the
// same matrix again; C's must make its matrices disjoint).
ARGOSY_API void gemm_batched(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n,
                             int64_t k, double alpha, const void* a, int64_t lda,
                             std::span<const int64_t> a_strides, const void* b, int64_t ldb,
                             std::span<const int64_t> b_strides, double beta, void* c, int64_t ldc,
                             std::span<const int64_t> c_strides, std::span<const int64_t> batch);

// *out = sum of x[i] * y[i], without conjugation.
ARGOSY_API void dot(DType dtype, int64_t n, const void* x, int64_t incx, const void* y,
                    int64_t incy, void* out);

}  // namespace argosy::cpu
