#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "argosy/base/dtype.h"
#include "argosy/kernels/cuda/runtime.h"

// Factorizations of stacks of matrices by cuSOLVER, which is loaded when it is first asked for, and
// cuBLAS: float32, float64, complex64, complex128. Matrices are row major and packed unless said,
// with at least one element and at least one in the stack. NVIDIA's are column major: a matrix is
// read as its transpose where the result can be, and turned around else.
//
// info, [batch], of the device: 0, or what LAPACK says; "real" is real_of(dtype). None of these can
// be recorded in a CUDA graph but triangular_solve, and they may wait.
namespace argosy::cuda {

// Null if cuSOLVER is there, else why not.
const char* solver_problem();

// Lower L with a = L L^H, or upper U with a = U^H U; out may be a. info: the leading minor that is
// not positive definite.
void cholesky(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, bool upper, const void* a,
              void* out, int32_t* info);

// x, [n, columns], which holds b: op(a) x = b. Each matrix of a is a_stride elements after the one
// before; 0: one for the whole stack. No info: a zero on the diagonal gives infinities.
struct Triangular {
  DType dtype = DType::float32;
  int64_t batch = 1, n = 0, columns = 0;
  bool upper = true, transpose = false, unit = false;
  const void* a = nullptr;
  int64_t a_stride = 0;
  void* x = nullptr;
};
void triangular_solve(cudaStream_t stream, const Triangular& system);

// The factors of a, [m, n], = P L U: kept column major, pivots as LAPACK's. info: the first zero on
// U's diagonal.
class Lu {
 public:
  Lu(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, const void* a);
  void* factors() const { return factors_.data(); }
  int32_t* pivots() const { return pivots_.data<int32_t>(); }
  int32_t* info() const { return info_.data<int32_t>(); }
  // b, [n, columns] column major, = x with a x = b, or a^T x = b; a is square.
  void solve(bool transposed, int64_t columns, void* b) const;

 private:
  void factor_batched();
  void factor_each();

  const cudaStream_t stream_;
  const DType dtype_;
  const int64_t batch_, m_, n_, steps_;
  const bool batched_;  // by cuBLAS, else one after the other by cuSOLVER
  Scratch factors_, pivots_, info_;
  std::optional<Scratch> wide_pivots_;  // cuSOLVER's
};

// q, [m, columns], and r, [columns, n]; columns is min(m, n), or m.
void qr(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, int64_t columns,
        const void* a, void* q, void* r);

// Eigenvalues (real, ascending) of Hermitian matrices, of which one triangle is read; their
// eigenvectors come to be in a, column major before and after. Elements are finite.
void eigh(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, bool upper, void* a, void* w,
          int32_t* info);

// Eigenvalues and eigenvectors (columns of v, of unit length), complex, of any square matrices.
// Elements are finite.
void eig(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* a, void* w,
         void* v, int32_t* info);

// a, [m, n], = u diag(s) vh, s (real) descending; u [m, k], vh [k, n], or square if full. Elements
// are finite.
void svd(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, bool full,
         const void* a, void* u, void* s, void* vh, int32_t* info);

}  // namespace argosy::cuda
