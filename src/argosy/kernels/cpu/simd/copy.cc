#include <immintrin.h>

#include "argosy/kernels/cpu/simd/copy.h"
#include "argosy/kernels/cpu/simd/map.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// target[c][r] = source[r][c] for a block of side x side items; leading dimensions in items.
template <class T>
struct Block;

template <>
struct Block<uint16_t> {
  static constexpr int side = 8;
  static void run(uint16_t* to, int64_t to_ld, const uint16_t* from, int64_t from_ld) {
    __m128i r[8], s[8];
    for (int i = 0; i < 8; ++i) {
      r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_ld));
    }
    for (int i = 0; i < 4; ++i) {
      s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
      s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      r[2 * i] = _mm_unpacklo_epi16(s[i], s[i + 4]);
      r[2 * i + 1] = _mm_unpackhi_epi16(s[i], s[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
      s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
    }
    for (int i = 0; i < 8; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_ld), s[i]);
    }
  }
};

template <>
struct Block<uint32_t> {
  static constexpr int side = 8;
  static void run(uint32_t* to, int64_t to_ld, const uint32_t* from, int64_t from_ld) {
    __m256 r[8], s[8];
    // Halves of rows i and i + 4 side by side: then only moves inside 128-bit lanes are left.
    for (int i = 0; i < 4; ++i) {
      const float* a = reinterpret_cast<const float*>(from + i * from_ld);
      const float* b = reinterpret_cast<const float*>(from + (i + 4) * from_ld);
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
      r[i + 4] =
          _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a + 4)), _mm_loadu_ps(b + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
      s[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
      s[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
      s[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
      s[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
      r[h] = _mm256_shuffle_ps(s[h], s[h + 2], 0x44);
      r[h + 1] = _mm256_shuffle_ps(s[h], s[h + 2], 0xee);
      r[h + 2] = _mm256_shuffle_ps(s[h + 1], s[h + 3], 0x44);
      r[h + 3] = _mm256_shuffle_ps(s[h + 1], s[h + 3], 0xee);
    }
    for (int i = 0; i < 8; ++i) _mm256_storeu_ps(reinterpret_cast<float*>(to + i * to_ld), r[i]);
  }
};

template <>
struct Block<uint64_t> {
  static constexpr int side = 4;
  static void run(uint64_t* to, int64_t to_ld, const uint64_t* from, int64_t from_ld) {
    __m256d r[4], s[4];
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(from + i * from_ld));
    }
    s[0] = _mm256_unpacklo_pd(r[0], r[1]);
    s[1] = _mm256_unpackhi_pd(r[0], r[1]);
    s[2] = _mm256_unpacklo_pd(r[2], r[3]);
    s[3] = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(s[0], s[2], 0x20);
    r[1] = _mm256_permute2f128_pd(s[1], s[3], 0x20);
    r[2] = _mm256_permute2f128_pd(s[0], s[2], 0x31);
    r[3] = _mm256_permute2f128_pd(s[1], s[3], 0x31);
    for (int i = 0; i < 4; ++i) _mm256_storeu_pd(reinterpret_cast<double*>(to + i * to_ld), r[i]);
  }
};

// Others: plain, still by blocks for the sake of the caches.
template <class T>
struct Block {
  static constexpr int side = 8;
  static void run(T* to, int64_t to_ld, const T* from, int64_t from_ld) {
    for (int c = 0; c < side; ++c) {
      for (int r = 0; r < side; ++r) to[c * to_ld + r] = from[r * from_ld + c];
    }
  }
};

template <class T>
void transpose(void* target, int64_t to_ld, const void* source, int64_t from_ld, int64_t rows,
               int64_t cols) {
  constexpr int kSide = Block<T>::side;
  // One cache line of source columns at a time, for few enough rows to stay within the TLB.
  constexpr int kWide = 64 / sizeof(T) > kSide ? 64 / sizeof(T) : kSide;
  constexpr int kTall = 256;
  T* to = static_cast<T*>(target);
  const T* from = static_cast<const T*>(source);
  for (int64_t r0 = 0; r0 < rows; r0 += kTall) {
    const int64_t r1 = r0 + kTall < rows ? r0 + kTall : rows;
    for (int64_t c0 = 0; c0 < cols; c0 += kWide) {
      const int64_t c1 = c0 + kWide < cols ? c0 + kWide : cols;
      int64_t r = r0;
      for (; r + kSide <= r1; r += kSide) {
        int64_t c = c0;
        for (; c + kSide <= c1; c += kSide) {
          Block<T>::run(to + c * to_ld + r, to_ld, from + r * from_ld + c, from_ld);
        }
        for (; c < c1; ++c) {
          for (int i = 0; i < kSide; ++i) to[c * to_ld + r + i] = from[(r + i) * from_ld + c];
        }
      }
      for (; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) to[c * to_ld + r] = from[r * from_ld + c];
      }
    }
  }
}

}  // namespace

constexpr CopyKernels kKernels = {
    {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>,
     transpose<c128>},
};
const CopyKernels copy_kernels = kKernels;

}  // namespace argosy::cpu::ARGOSY_ISA
