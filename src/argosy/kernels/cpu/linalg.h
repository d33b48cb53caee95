#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Dense factorizations and solvers on LAPACK: float32, float64, complex64, complex128. Matrices are
// row major and packed, `batch` of them one after the other; outputs may not overlap inputs unless
// said. ^H is the conjugate transpose (the transpose for real dtypes).
//
// info, [batch], gets 0 for each matrix that went well, and else a number > 0 whose meaning stands
// with the function; that matrix's outputs are then unspecified, those of the others are right.
// "real" outputs have dtype real_of(dtype). NaN and infinities pass through what is not iterative
// and make info > 0 in what is.
namespace argosy::cpu {

// Lower L with a = L L^H, or upper U with a = U^H U; the other triangle is zeros. Only the triangle
// asked for is read of a. info: the leading minor that is not positive definite. out may be a.
ARGOSY_API void cholesky(DType dtype, int64_t batch, int64_t n, bool upper, const void* a,
                         void* out, int32_t* info);
// x with op(a) x = b, reading one triangle of a only (and not its diagonal if unit). op transposes,
// without conjugation. A zero on the diagonal gives infinities. x may be b.
ARGOSY_API void triangular_solve(DType dtype, int64_t batch, int64_t n, int64_t columns, bool upper,
                                 bool transpose, bool unit, const void* a, const void* b, void* x);

// a, [m, n], = P L U packed into lu; pivots, [min(m, n)], 1-based: row i was swapped with row
// pivots[i]. info: the first zero on U's diagonal (the factors are right all the same).
ARGOSY_API void lu_factor(DType dtype, int64_t batch, int64_t m, int64_t n, const void* a, void* lu,
                          int32_t* pivots, int32_t* info);
// x with a x = b, [n, columns]. info: as lu_factor, then x is unspecified. x may be b.
ARGOSY_API void solve(DType dtype, int64_t batch, int64_t n, int64_t columns, const void* a,
                      const void* b, void* x, int32_t* info);
// out may be a.
ARGOSY_API void inverse(DType dtype, int64_t batch, int64_t n, const void* a, void* out,
                        int32_t* info);
// det, [batch], may be null; sign (modulus 1, or 0) and log |det| (real) too.
ARGOSY_API void determinant(DType dtype, int64_t batch, int64_t n, const void* a, void* det,
                            void* sign, void* log_abs);

// a, [m, n], = q r with q [m, k], r [k, n]; k = min(m, n), or m if complete. q may be null.
ARGOSY_API void qr(DType dtype, int64_t batch, int64_t m, int64_t n, bool complete, const void* a,
                   void* q, void* r);

// a, [m, n], = u diag(s) vh with s (real, [k]) descending; u [m, k], vh [k, n], or square if full.
// u and vh may both be null. info: did not converge.
ARGOSY_API void svd(DType dtype, int64_t batch, int64_t m, int64_t n, bool full, const void* a,
                    void* u, void* s, void* vh, int32_t* info);
// Eigenvalues (real, ascending) and eigenvectors (columns of v, may be null) of a Hermitian matrix
// of which one triangle is read. info: did not converge.
ARGOSY_API void eigh(DType dtype, int64_t batch, int64_t n, bool upper, const void* a, void* w,
                     void* v, int32_t* info);
// Of any square matrix. w, [n], and v (columns, unit length, may be null) have dtype
// complex_of(dtype). info: did not converge.
ARGOSY_API void eig(DType dtype, int64_t batch, int64_t n, const void* a, void* w, void* v,
                    int32_t* info);

// How lstsq treats a: full rank by QR (gels); any rank by QR with pivoting (gelsy) or by the SVD
// (gelsd, gelss).
enum class LstsqDriver : uint8_t { gels, gelsy, gelsd, gelss };
// x, [n, columns], of least norm among those that minimize |a x - b|, a [m, n], b [m, columns].
// Singular values up to rcond times the largest count as zero; rcond < 0: the dtype's epsilon.
// rank, [batch], and singular (real, [min(m, n)], gelsd and gelss only) may be null. info: a is not
// of full rank (gels), or did not converge.
ARGOSY_API void lstsq(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t columns,
                      LstsqDriver driver, double rcond, const void* a, const void* b, void* x,
                      int32_t* rank, void* singular, int32_t* info);

}  // namespace argosy::cpu
