#include <immintrin.h>

#include <cstring>

#include "argosy/base/error.h"
#include "argosy/kernels/cpu/gemm_blas.h"

namespace argosy::cpu {
namespace {

inline __m256 widen(const float16*, __m128i v) {
  return _mm256_cvtph_ps(v);
}
inline __m256 widen(const bfloat16*, __m128i v) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

inline __m128i narrow(const float16*, __m256 v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
inline __m128i narrow(const bfloat16*, __m256 v) {
  __m256i u = _mm256_castps_si256(v);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  // NaN must not round to infinity.
  __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  __m256i top = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(top, top), 0x08);
  return _mm256_castsi256_si128(packed);
}

template <class T>
void widen_row(const T* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, widen(from, v));
  }
  for (; i < n; ++i) to[i] = from[i];
}

template <class T>
void narrow_row(const float* from, T* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i v = narrow(to, _mm256_loadu_ps(from + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), v);
  }
  for (; i < n; ++i) to[i] = T(from[i]);
}

}  // namespace

void half_to_float(DType dtype, const void* from, float* to, int64_t n) {
  if (dtype == DType::float16)
    widen_row(static_cast<const float16*>(from), to, n);
  else
    widen_row(static_cast<const bfloat16*>(from), to, n);
}

void float_to_half(DType dtype, const float* from, void* to, int64_t n) {
  if (dtype == DType::float16)
    narrow_row(from, static_cast<float16*>(to), n);
  else
    narrow_row(from, static_cast<bfloat16*>(to), n);
}

}  // namespace argosy::cpu
