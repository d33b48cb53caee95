#include "argosy/kernels/cpu/linalg_lapack.h"

#include <vector>

#include "argosy/kernels/cpu/gemm_blas.h"

using c64 = std::complex<float>;
using c128 = std::complex<double>;

// LAPACKE takes care of workspaces; scipy-openblas prefixes all names.
extern "C" {
int scipy_LAPACKE_set_nancheck(int flag);
#define ARGOSY_DECLARE(p, T, R)                                                                   \
  int scipy_LAPACKE_##p##potrf(int order, char uplo, int n, T* a, int lda);                       \
  int scipy_LAPACKE_##p##getrf(int order, int m, int n, T* a, int lda, int* pivots);              \
  int scipy_LAPACKE_##p##getri(int order, int n, T* a, int lda, const int* pivots);               \
  int scipy_LAPACKE_##p##getrs(int order, char trans, int n, int nrhs, const T* a, int lda,       \
                               const int* pivots, T* b, int ldb);                                 \
  int scipy_LAPACKE_##p##geqrf(int order, int m, int n, T* a, int lda, T* tau);                   \
  int scipy_LAPACKE_##p##gesdd(int order, char job, int m, int n, T* a, int lda, R* s, T* u,      \
                               int ldu, T* vt, int ldvt);                                         \
  int scipy_LAPACKE_##p##gels(int order, char trans, int m, int n, int nrhs, T* a, int lda, T* b, \
                              int ldb);                                                           \
  int scipy_LAPACKE_##p##gelsy(int order, int m, int n, int nrhs, T* a, int lda, T* b, int ldb,   \
                               int* jpvt, R rcond, int* rank);                                    \
  int scipy_LAPACKE_##p##gelsd(int order, int m, int n, int nrhs, T* a, int lda, T* b, int ldb,   \
                               R* s, R rcond, int* rank);                                         \
  int scipy_LAPACKE_##p##gelss(int order, int m, int n, int nrhs, T* a, int lda, T* b, int ldb,   \
                               R* s, R rcond, int* rank);
ARGOSY_DECLARE(s, float, float)
ARGOSY_DECLARE(d, double, double)
ARGOSY_DECLARE(c, c64, float)
ARGOSY_DECLARE(z, c128, double)
#undef ARGOSY_DECLARE

int scipy_LAPACKE_sorgqr(int order, int m, int n, int k, float* a, int lda, const float* tau);
int scipy_LAPACKE_dorgqr(int order, int m, int n, int k, double* a, int lda, const double* tau);
int scipy_LAPACKE_cungqr(int order, int m, int n, int k, c64* a, int lda, const c64* tau);
int scipy_LAPACKE_zungqr(int order, int m, int n, int k, c128* a, int lda, const c128* tau);
int scipy_LAPACKE_ssyevd(int order, char job, char uplo, int n, float* a, int lda, float* w);
int scipy_LAPACKE_dsyevd(int order, char job, char uplo, int n, double* a, int lda, double* w);
int scipy_LAPACKE_cheevd(int order, char job, char uplo, int n, c64* a, int lda, float* w);
int scipy_LAPACKE_zheevd(int order, char job, char uplo, int n, c128* a, int lda, double* w);
int scipy_LAPACKE_sgeev(int order, char left, char right, int n, float* a, int lda, float* wr,
                        float* wi, float* vl, int ldvl, float* vr, int ldvr);
int scipy_LAPACKE_dgeev(int order, char left, char right, int n, double* a, int lda, double* wr,
                        double* wi, double* vl, int ldvl, double* vr, int ldvr);
int scipy_LAPACKE_cgeev(int order, char left, char right, int n, c64* a, int lda, c64* w, c64* vl,
                        int ldvl, c64* vr, int ldvr);
int scipy_LAPACKE_zgeev(int order, char left, char right, int n, c128* a, int lda, c128* w,
                        c128* vl, int ldvl, c128* vr, int ldvr);
void scipy_cblas_strsm(int order, int side, int uplo, int trans, int diag, int m, int n,
                       float alpha, const float* a, int lda, float* b, int ldb);
void scipy_cblas_dtrsm(int order, int side, int uplo, int trans, int diag, int m, int n,
                       double alpha, const double* a, int lda, double* b, int ldb);
void scipy_cblas_ctrsm(int order, int side, int uplo, int trans, int diag, int m, int n,
                       const void* alpha, const void* a, int lda, void* b, int ldb);
void scipy_cblas_ztrsm(int order, int side, int uplo, int trans, int diag, int m, int n,
                       const void* alpha, const void* a, int lda, void* b, int ldb);
}

namespace argosy::cpu::lapack {
namespace {

constexpr int kColumnMajor = 102;
constexpr int kRowMajor = 101, kLeft = 141, kUpper = 121, kLower = 122;
constexpr int kNonUnit = 131, kUnit = 132;

void enter() {
  enter_openblas();
  // NaN in gives NaN out; LAPACKE's own check would refuse without a word on where.
  static const bool once = (scipy_LAPACKE_set_nancheck(0), true);
  (void)once;
}

int cblas_transpose(char trans) {
  return trans == 'N' ? 111 : trans == 'T' ? 112 : 113;
}

// Real geev gives pairs of conjugate eigenvectors as their real and imaginary parts.
template <class T, class F>
int real_geev(F geev, bool vectors, int n, T* a, int lda, std::complex<T>* w, std::complex<T>* v) {
  size_t size = static_cast<size_t>(n);
  std::vector<T> re(size), im(size), right(vectors ? size * size : 1);
  int info = geev(kColumnMajor, 'N', vectors ? 'V' : 'N', n, a, lda, re.data(), im.data(),
                  static_cast<T*>(nullptr), 1, right.data(), vectors ? n : 1);
  for (size_t j = 0; j < size; ++j) w[j] = {re[j], im[j]};
  for (size_t j = 0; vectors && j < size; ++j) {
    const T* x = &right[j * size];
    std::complex<T>* to = v + j * size;
    bool pair = im[j] != 0 && j + 1 < size;
    for (size_t i = 0; i < size; ++i) {
      to[i] = {x[i], pair ? x[size + i] : T(0)};
      if (pair) to[size + i] = {x[i], -x[size + i]};
    }
    j += pair;
  }
  return info;
}

}  // namespace

#define ARGOSY_DEFINE(p, T, R)                                                                    \
  int potrf(char uplo, int n, T* a, int lda) {                                                    \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##potrf(kColumnMajor, uplo, n, a, lda);                               \
  }                                                                                               \
  int getrf(int m, int n, T* a, int lda, int* pivots) {                                           \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##getrf(kColumnMajor, m, n, a, lda, pivots);                          \
  }                                                                                               \
  int getri(int n, T* a, int lda, const int* pivots) {                                            \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##getri(kColumnMajor, n, a, lda, pivots);                             \
  }                                                                                               \
  int getrs(char trans, int n, int columns, const T* a, int lda, const int* pivots, T* b,         \
            int ldb) {                                                                            \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##getrs(kColumnMajor, trans, n, columns, a, lda, pivots, b, ldb);     \
  }                                                                                               \
  int geqrf(int m, int n, T* a, int lda, T* tau) {                                                \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##geqrf(kColumnMajor, m, n, a, lda, tau);                             \
  }                                                                                               \
  int gesdd(char job, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt) {        \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##gesdd(kColumnMajor, job, m, n, a, lda, s, u, ldu, vt, ldvt);        \
  }                                                                                               \
  int gels(int m, int n, int columns, T* a, int lda, T* b, int ldb) {                             \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##gels(kColumnMajor, 'N', m, n, columns, a, lda, b, ldb);             \
  }                                                                                               \
  int gelsy(int m, int n, int columns, T* a, int lda, T* b, int ldb, R rcond, int* rank) {        \
    enter();                                                                                      \
    std::vector<int> pivots(static_cast<size_t>(n) + 1);                                          \
    return scipy_LAPACKE_##p##gelsy(kColumnMajor, m, n, columns, a, lda, b, ldb, pivots.data(),   \
                                    rcond, rank);                                                 \
  }                                                                                               \
  int gelsd(int m, int n, int columns, T* a, int lda, T* b, int ldb, R* s, R rcond, int* rank) {  \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##gelsd(kColumnMajor, m, n, columns, a, lda, b, ldb, s, rcond, rank); \
  }                                                                                               \
  int gelss(int m, int n, int columns, T* a, int lda, T* b, int ldb, R* s, R rcond, int* rank) {  \
    enter();                                                                                      \
    return scipy_LAPACKE_##p##gelss(kColumnMajor, m, n, columns, a, lda, b, ldb, s, rcond, rank); \
  }
ARGOSY_DEFINE(s, float, float)
ARGOSY_DEFINE(d, double, double)
ARGOSY_DEFINE(c, c64, float)
ARGOSY_DEFINE(z, c128, double)
#undef ARGOSY_DEFINE

#define ARGOSY_DEFINE(T, R, orgqr_name, heevd_name)                           \
  int orgqr(int m, int n, int k, T* a, int lda, const T* tau) {               \
    enter();                                                                  \
    return scipy_LAPACKE_##orgqr_name(kColumnMajor, m, n, k, a, lda, tau);    \
  }                                                                           \
  int heevd(char job, char uplo, int n, T* a, int lda, R* w) {                \
    enter();                                                                  \
    return scipy_LAPACKE_##heevd_name(kColumnMajor, job, uplo, n, a, lda, w); \
  }
ARGOSY_DEFINE(float, float, sorgqr, ssyevd)
ARGOSY_DEFINE(double, double, dorgqr, dsyevd)
ARGOSY_DEFINE(c64, float, cungqr, cheevd)
ARGOSY_DEFINE(c128, double, zungqr, zheevd)
#undef ARGOSY_DEFINE

int geev(bool vectors, int n, float* a, int lda, c64* w, c64* v) {
  enter();
  return real_geev(scipy_LAPACKE_sgeev, vectors, n, a, lda, w, v);
}
int geev(bool vectors, int n, double* a, int lda, c128* w, c128* v) {
  enter();
  return real_geev(scipy_LAPACKE_dgeev, vectors, n, a, lda, w, v);
}
int geev(bool vectors, int n, c64* a, int lda, c64* w, c64* v) {
  enter();
  return scipy_LAPACKE_cgeev(kColumnMajor, 'N', vectors ? 'V' : 'N', n, a, lda, w, nullptr, 1, v,
                             vectors ? n : 1);
}
int geev(bool vectors, int n, c128* a, int lda, c128* w, c128* v) {
  enter();
  return scipy_LAPACKE_zgeev(kColumnMajor, 'N', vectors ? 'V' : 'N', n, a, lda, w, nullptr, 1, v,
                             vectors ? n : 1);
}

#define ARGOSY_DEFINE(p, T, one)                                                             \
  void trsm(bool upper, char trans, bool unit, int n, int columns, const T* a, T* b) {       \
    enter();                                                                                 \
    const T alpha(1);                                                                        \
    scipy_cblas_##p##trsm(kRowMajor, kLeft, upper ? kUpper : kLower, cblas_transpose(trans), \
                          unit ? kUnit : kNonUnit, n, columns, one, a, n, b, columns);       \
  }
ARGOSY_DEFINE(s, float, alpha)
ARGOSY_DEFINE(d, double, alpha)
ARGOSY_DEFINE(c, c64, &alpha)
ARGOSY_DEFINE(z, c128, &alpha)
#undef ARGOSY_DEFINE

}  // namespace argosy::cpu::lapack
