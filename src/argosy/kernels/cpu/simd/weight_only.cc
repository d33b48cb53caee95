// Products with weights of 8 or 4 bits. Compiled once per instruction set.
#include "argosy/kernels/cpu/simd/weight_only.h"

#include "argosy/kernels/cpu/simd/panel.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr int kL = Vec::kLanes;

// So many sums at a time that the latency of additions does not show, and registers suffice.
#ifdef __AVX512F__
constexpr int kSums = 8;
#else
constexpr int kSums = 4;
#endif

#ifdef __AVX512F__
constexpr __mmask16 kAll = 0xffff;  // unmasked, GCC 12 warns in its own header
#endif

// kL bytes as numbers: kRows rows of codes share them.
struct Bits8 {
  static constexpr int kRows = 1;
  ARGOSY_INLINE void run(const int8_t* p, Vec* out) const {
#ifdef __AVX512F__
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    out[0].v = _mm512_maskz_cvtepi32_ps(kAll, _mm512_maskz_cvtepi8_epi32(kAll, bytes));
#else
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    out[0].v = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#endif
  }
};
struct Bits4 {
  static constexpr int kRows = 2;
#ifdef __AVX512F__
  // All codes in one register; a look-up reads the lowest four bits.
  __m512 numbers = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
  ARGOSY_INLINE void run(const int8_t* p, Vec* out) const {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m512i both = _mm512_maskz_cvtepu8_epi32(kAll, bytes);
    out[0].v = _mm512_maskz_permutexvar_ps(kAll, both, numbers);
    out[1].v = _mm512_maskz_permutexvar_ps(kAll, _mm512_maskz_srli_epi32(kAll, both, 4), numbers);
  }
#else
  ARGOSY_INLINE void run(const int8_t* p, Vec* out) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m256i both = _mm256_cvtepi8_epi32(bytes);
    out[0].v = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(both, 28), 28));
    out[1].v = _mm256_cvtepi32_ps(_mm256_srai_epi32(both, 4));
  }
#endif
};

// The sum of all lanes, pair by pair.
ARGOSY_INLINE float across(Vec v) {
  float lanes[kL];
  v.store(lanes);
  __m256 eight = _mm256_loadu_ps(lanes);
  if constexpr (kL == 16) eight = _mm256_add_ps(eight, _mm256_loadu_ps(lanes + kL / 2));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

// sum[j][r] += x * row r of byte row j, over kL columns; byte rows are `step` apart.
template <int kN, class Bits>
ARGOSY_INLINE void add(const Bits& bits, Vec x, const int8_t* codes, int64_t step,
                       Vec (&sum)[kN][Bits::kRows]) {
#pragma GCC unroll 8
  for (int j = 0; j < kN; ++j) {
    Vec number[Bits::kRows];
    bits.run(codes + j * step, number);
#pragma GCC unroll 2
    for (int r = 0; r < Bits::kRows; ++r) sum[j][r] = Vec::fma(x, number[r], sum[j][r]);
  }
}

// The same over the last n < kL columns.
template <int kN, class Bits>
void add_last(const Bits& bits, const float* x, const int8_t* codes, int64_t step, int64_t n,
              Vec (&sum)[kN][Bits::kRows]) {
  int8_t part[kN * kL] = {};
  for (int j = 0; j < kN; ++j)
    __builtin_memcpy(part + j * kL, codes + j * step, static_cast<size_t>(n));
  add<kN>(bits, Vec::load(x, Vec::first(n)), part, kL, sum);
}

// Results of kN rows of bytes from `j` on, for one row of x.
template <int kN, class Bits>
void results(const WeightOnlyRows& p, int64_t j, const float* x, float* y) {
  constexpr int kR = Bits::kRows;
  const WeightOnly& w = p.w;
  const Bits bits;
  const int8_t* codes = w.codes + j * w.k;
  const float* scale = w.scale + j * kR;
  Vec total[kN][kR];
  for (auto& row : total)
    for (Vec& v : row) v = Vec::zero();
  for (int64_t i = 0; i < w.k; scale += w.n) {
    const int64_t end = i + w.group < w.k ? i + w.group : w.k;
    Vec sum[kN][kR];
    for (auto& row : sum)
      for (Vec& v : row) v = Vec::zero();
    for (; i + kL <= end; i += kL) add<kN>(bits, Vec::load(x + i), codes + i, w.k, sum);
    if (i < end) add_last<kN>(bits, x + i, codes + i, w.k, end - i, sum);
    i = end;
    for (int t = 0; t < kN; ++t)
      for (int r = 0; r < kR; ++r)
        total[t][r] = Vec::fma(sum[t][r], Vec::fill(scale[t * kR + r]), total[t][r]);
  }
  for (int t = 0; t < kN; ++t)
    for (int r = 0; r < kR; ++r) {
      const int64_t row = j * kR + t * kR + r;
      y[row] = across(total[t][r]) + (p.bias ? p.bias[row] : 0);
    }
}

template <class Bits>
void rows(const WeightOnlyRows& p, int64_t begin, int64_t end) {
  constexpr int kN = kSums / Bits::kRows;
  for (int64_t j = begin; j < end;) {
    const bool whole = j + kN <= end;
    for (int64_t i = 0; i < p.m; ++i) {
      const float* x = p.x + i * p.w.k;
      float* y = p.y + i * p.w.n;
      if (whole)
        results<kN, Bits>(p, j, x, y);
      else
        results<1, Bits>(p, j, x, y);
    }
    j += whole ? kN : 1;
  }
}

}  // namespace

void weight_only_rows(const WeightOnlyRows& p, int64_t begin, int64_t end) {
  if (p.w.bits == 4)
    rows<Bits4>(p, begin, end);
  else
    rows<Bits8>(p, begin, end);
}

}  // namespace argosy::cpu::ARGOSY_ISA
