#pragma once

#include <complex>
#include <cstdint>

// LAPACK for each of its four types under one name, column major, on the calling thread. Private to
// kernels/cpu. Each returns LAPACK's info.
namespace argosy::cpu::lapack {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

#define ARGOSY_LAPACK(T)                                                                        \
  int potrf(char uplo, int n, T* a, int lda);                                                   \
  int getrf(int m, int n, T* a, int lda, int* pivots);                                          \
  int getri(int n, T* a, int lda, const int* pivots);                                           \
  int getrs(char trans, int n, int columns, const T* a, int lda, const int* pivots, T* b,       \
            int ldb);                                                                           \
  int geqrf(int m, int n, T* a, int lda, T* tau);                                               \
  int orgqr(int m, int n, int k, T* a, int lda, const T* tau);                                  \
  int gesdd(char job, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt); \
  int heevd(char job, char uplo, int n, T* a, int lda, Real<T>* w);                             \
  int geev(bool vectors, int n, T* a, int lda, std::complex<Real<T>>* w,                        \
           std::complex<Real<T>>* v);                                                           \
  int gels(int m, int n, int columns, T* a, int lda, T* b, int ldb);                            \
  int gelsy(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T> rcond, int* rank); \
  int gelsd(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, \
            int* rank);                                                                         \
  int gelss(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, \
            int* rank);                                                                         \
  /* Row major: op(a) x = b in place of b, [n, columns]. trans: 'N', 'T' or 'C'. */             \
  void trsm(bool upper, char trans, bool unit, int n, int columns, const T* a, T* b);
ARGOSY_LAPACK(float)
ARGOSY_LAPACK(double)
ARGOSY_LAPACK(std::complex<float>)
ARGOSY_LAPACK(std::complex<double>)
#undef ARGOSY_LAPACK

}  // namespace argosy::cpu::lapack
