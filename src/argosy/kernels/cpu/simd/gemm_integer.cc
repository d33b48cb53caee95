// Products of integer matrices, modulo 2 to the width. Compiled once per instruction set.
#include <stdint.h>

#include "argosy/kernels/cpu/simd/gemm_integer.h"
#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr int64_t kDepth = 256;  // of K at a time: a packed panel of B stays in the cache
#ifdef __AVX512F__
constexpr int kVectorBytes = 64, kRows = 8;
#else
constexpr int kVectorBytes = 32, kRows = 4;
#endif

template <class T>
constexpr int kColumns = 2 * kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};

// C[r, :width] += alpha * A[r, :k] B for `rows` rows; b has kColumns numbers in each row. Spelled
// in vectors: left to itself, GCC makes vectors of a column of A.
template <class T, int rows>
void tile(const IntegerProduct& p, T alpha, int64_t k, const T* a, const T* b, int64_t ldb, T* c,
          int64_t width) {
  using Vec = typename VectorOf<T>::type;
  const int64_t row = p.trans_a ? 1 : p.lda, col = p.trans_a ? p.lda : 1;
  Vec acc[rows][2] = {};
  for (int64_t q = 0; q < k; ++q) {
    Vec left, right;
    __builtin_memcpy(&left, b + q * ldb, kVectorBytes);
    __builtin_memcpy(&right, b + q * ldb + kColumns<T> / 2, kVectorBytes);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vec factor = Vec{} + a[i * row + q * col];
      acc[i][0] += factor * left;
      acc[i][1] += factor * right;
    }
  }
  for (int i = 0; i < rows; ++i) {
    T sums[kColumns<T>];
    __builtin_memcpy(sums, acc[i], sizeof sums);
    for (int64_t j = 0; j < width; ++j) {
      T& to = c[i * p.ldc + j];
      to = static_cast<T>(to + static_cast<T>(1u * alpha * sums[j]));
    }
  }
}

template <class T>
void pack(const IntegerProduct& p, int64_t q0, int64_t k, int64_t j0, int64_t width, T* to) {
  constexpr int columns = kColumns<T>;
  const T* b = static_cast<const T*>(p.b);
  const int64_t row = p.trans_b ? 1 : p.ldb, col = p.trans_b ? p.ldb : 1;
  for (int64_t q = 0; q < k; ++q) {
    for (int64_t j = 0; j < columns; ++j)
      to[q * columns + j] = j < width ? b[(q0 + q) * row + (j0 + j) * col] : T(0);
  }
}

template <class T>
void run(const IntegerProduct& p) {
  constexpr int columns = kColumns<T>;
  alignas(64) T packed[kDepth * columns];
  const T alpha = static_cast<T>(p.alpha);
  const int64_t row = p.trans_a ? 1 : p.lda, col = p.trans_a ? p.lda : 1;
  for (int64_t q = 0; q < p.k; q += kDepth) {
    const int64_t k = p.k - q < kDepth ? p.k - q : kDepth;
    for (int64_t j = 0; j < p.n; j += columns) {
      const int64_t width = p.n - j < columns ? p.n - j : columns;
      const T* b = static_cast<const T*>(p.b) + q * p.ldb + j;
      int64_t ldb = p.ldb;
      if (p.trans_b || width < columns) {
        pack(p, q, k, j, width, packed);
        b = packed;
        ldb = columns;
      }
      const T* a = static_cast<const T*>(p.a) + q * col;
      T* c = static_cast<T*>(p.c) + j;
      int64_t i = 0;
      for (; i + kRows <= p.m; i += kRows)
        tile<T, kRows>(p, alpha, k, a + i * row, b, ldb, c + i * p.ldc, width);
      for (; i < p.m; ++i) tile<T, 1>(p, alpha, k, a + i * row, b, ldb, c + i * p.ldc, width);
    }
  }
}

}  // namespace

void integer_gemm(const IntegerProduct& p) {
  switch (p.item) {
    case 1:
      return run<uint8_t>(p);
    case 2:
      return run<uint16_t>(p);
    case 4:
      return run<uint32_t>(p);
    default:
      return run<uint64_t>(p);
  }
}

}  // namespace argosy::cpu::ARGOSY_ISA
