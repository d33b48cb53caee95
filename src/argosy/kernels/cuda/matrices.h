#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// What is done to stacks of small or large matrices beside their factorizations: float32, float64,
// complex64, complex128.
namespace argosy::cuda {

// Where a stack of matrices lies; all distances in elements.
struct Lying {
  int64_t batch_stride, row_stride, column_stride;
};
inline Lying row_major(int64_t rows, int64_t columns) {
  return {rows * columns, columns, 1};
}
inline Lying column_major(int64_t rows, int64_t columns) {
  return {rows * columns, 1, rows};
}

enum class Part : uint8_t { all, lower, upper };

// to = from [batch, rows, columns], conjugated if asked, zeros outside of the part (which has the
// diagonal). to may be from where both lie alike.
void move_matrices(cudaStream_t stream, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                   const void* from, Lying from_at, void* to, Lying to_at, Part part = Part::all,
                   bool conjugated = false);

// out [batch, rows, columns], packed, = ones on the diagonal, zeros else.
void fill_identity(cudaStream_t stream, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                   void* out);

// to[i] = base + i * bytes.
void space_addresses(cudaStream_t stream, const void* base, int64_t bytes, int64_t count,
                     void** to);

void narrow_pivots(cudaStream_t stream, const int64_t* from, int32_t* to, int64_t n);

// Determinants of packed LU factors [batch, n, n], whose diagonals lie the same either way, and
// their pivots: into det, or the sign and log |det| (real); computed in float64.
void determinants(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* factors,
                  const int32_t* pivots, void* det, void* sign, void* log_abs);

// The permutation matrices [batch, rows, rows], float32, of pivots [batch, steps], 1-based; those
// that are out of range are left out.
void permutations(cudaStream_t stream, const int32_t* pivots, int64_t batch, int64_t steps,
                  int64_t rows, float* out);

// info[b] = 1 where it is 0 and some of the `per` numbers of b are not finite.
void flag_not_finite(cudaStream_t stream, DType dtype, int64_t batch, int64_t per,
                     const void* values, int32_t* info);

// v [batch, n, n], complex, row major, = the eigenvectors of real matrices, whose real and
// imaginary parts are neighbouring columns of `from`, column major, where the eigenvalues w are not
// real; the first of a pair is that with the positive imaginary part.
void pair_vectors(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* from,
                  const void* w, void* v);

// q [batch, m, columns], column major, = H0 H1 .. of the `steps` reflectors below the diagonals of
// factors [batch, m, .., column major, `stride` elements apart], Hi = 1 - tau_i v v^H.
void form_q(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t columns,
            int64_t steps, const void* factors, int64_t stride, const void* tau, void* q);

}  // namespace argosy::cuda
