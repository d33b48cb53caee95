// Products of a few thousand multiplications, where a library's checks cost more than the work.
// Compiled once per instruction set.
#include <immintrin.h>
#include <stdint.h>

#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

#ifdef __AVX512F__
struct Vec {
  static constexpr int kLanes = 16;
  static constexpr int kRows = 8;  // of a register tile with two vectors a row
  using Mask = __mmask16;
  __m512 v;
  static Mask first(int64_t n) { return static_cast<Mask>(n >= 16 ? 0xffff : (1u << n) - 1); }
  static Vec zero() { return {_mm512_setzero_ps()}; }
  static Vec fill(float x) { return {_mm512_set1_ps(x)}; }
  static Vec load(const float* p, Mask m) { return {_mm512_maskz_loadu_ps(m, p)}; }
  void store(float* p, Mask m) const { _mm512_mask_storeu_ps(p, m, v); }
  static Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
};
#else
struct Vec {
  static constexpr int kLanes = 8;
  static constexpr int kRows = 4;
  using Mask = __m256i;
  __m256 v;
  static Mask first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < 8 ? n : 8)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vec zero() { return {_mm256_setzero_ps()}; }
  static Vec fill(float x) { return {_mm256_set1_ps(x)}; }
  static Vec load(const float* p, Mask m) { return {_mm256_maskload_ps(p, m)}; }
  void store(float* p, Mask m) const { _mm256_maskstore_ps(p, m, v); }
  static Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  static Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
};
#endif

struct Args {
  int64_t k;
  const float* a;
  int64_t row, col;  // strides of A
  const float* b;
  int64_t ldb;
  float* c;
  int64_t ldc;
  float alpha, beta;
};

// kR rows by kV vectors of C; the last vector through `mask`.
template <int kR, int kV>
inline void tile(const Args& g, Vec::Mask mask) {
  Vec acc[kR][kV];
  for (int i = 0; i < kR; ++i)
    for (int j = 0; j < kV; ++j) acc[i][j] = Vec::zero();
  const Vec::Mask full = Vec::first(Vec::kLanes);
  for (int64_t p = 0; p < g.k; ++p) {
    Vec b[kV];
    for (int j = 0; j < kV; ++j)
      b[j] = Vec::load(g.b + p * g.ldb + j * Vec::kLanes, j == kV - 1 ? mask : full);
#pragma GCC unroll 8
    for (int i = 0; i < kR; ++i) {
      Vec a = Vec::fill(g.a[i * g.row + p * g.col]);
      for (int j = 0; j < kV; ++j) acc[i][j] = Vec::fma(a, b[j], acc[i][j]);
    }
  }
  Vec alpha = Vec::fill(g.alpha), beta = Vec::fill(g.beta);
#pragma GCC unroll 8
  for (int i = 0; i < kR; ++i)
    for (int j = 0; j < kV; ++j) {
      float* c = g.c + i * g.ldc + j * Vec::kLanes;
      Vec::Mask m = j == kV - 1 ? mask : full;
      Vec out = Vec::mul(acc[i][j], alpha);
      if (g.beta != 0) out = Vec::fma(Vec::load(c, m), beta, out);
      out.store(c, m);
    }
}

template <int kR, int kV>
inline void rest_of_rows(int64_t rows, const Args& g, Vec::Mask mask) {
  if constexpr (kR > 0) {
    if (rows == kR) return tile<kR, kV>(g, mask);
    rest_of_rows<kR - 1, kV>(rows, g, mask);
  }
}

template <int kV>
void column(int64_t m, Args g, Vec::Mask mask) {
  for (; m >= Vec::kRows; m -= Vec::kRows) {
    tile<Vec::kRows, kV>(g, mask);
    g.a += Vec::kRows * g.row;
    g.c += Vec::kRows * g.ldc;
  }
  rest_of_rows<Vec::kRows - 1, kV>(m, g, mask);
}

constexpr int64_t kPack = 4096;

void transpose_8x8(const float* from, int64_t stride, float* to, int64_t to_stride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * stride);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

// B is stored [n, k]; to[p * stride + j] = b[j * ldb + p].
void pack_transposed(const float* b, int64_t ldb, int64_t n, int64_t k, float* to, int64_t stride) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) {
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) transpose_8x8(b + j * ldb + p, ldb, to + p * stride + j, stride);
    for (; p < k; ++p)
      for (int64_t i = 0; i < 8; ++i) to[p * stride + j + i] = b[(j + i) * ldb + p];
  }
  for (; j < n; ++j)
    for (int64_t p = 0; p < k; ++p) to[p * stride + j] = b[j * ldb + p];
}

}  // namespace

bool small_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                 int64_t ldc) {
  alignas(64) float packed[kPack];
  if (trans_b) {
    int64_t stride = (n + 7) / 8 * 8;
    if (stride * k > kPack) return false;
    pack_transposed(b, ldb, n, k, packed, stride);
    b = packed;
    ldb = stride;
  }
  Args g{k, a, trans_a ? 1 : lda, trans_a ? lda : 1, b, ldb, c, ldc, alpha, beta};
  constexpr int64_t kWide = 2 * Vec::kLanes;
  for (int64_t j = 0; j < n; j += kWide, g.b += kWide, g.c += kWide) {
    int64_t left = n - j;
    if (left > Vec::kLanes)
      column<2>(m, g, Vec::first(left - Vec::kLanes));
    else
      column<1>(m, g, Vec::first(left));
  }
  return true;
}

void gelu_row(float* c, int64_t n) {
  for (int64_t j = 0; j < n; ++j) c[j] *= normal_cdf(c[j]);
}

}  // namespace argosy::cpu::ARGOSY_ISA
