#include "argosy/kernels/cpu/mask.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/items.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kChunk = 1 << 15;  // mask elements that one thread counts or packs at a time
constexpr int kBlock = 2048;         // of them, how many are turned into places at a time

// For each byte: the positions of its set bits, in order.
constexpr auto kBits = [] {
  std::array<std::array<uint8_t, 8>, 256> table{};
  for (unsigned m = 0; m < 256; ++m) {
    size_t k = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (m >> bit & 1) table[m][k++] = static_cast<uint8_t>(bit);
    }
  }
  return table;
}();

uint32_t bits_of(const bool* mask) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask));
  return ~static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
}

int64_t count_run(const bool* mask, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + 32 <= n; i += 32) count += std::popcount(bits_of(mask + i));
  for (; i < n; ++i) count += mask[i];
  return count;
}

// The positions of the true ones of at most kBlock elements. Writes up to 8 past the last one.
int places_of(const bool* mask, int64_t n, int32_t* places) {
  int found = 0;
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    uint32_t bits = bits_of(mask + i);
    for (int64_t base = i; bits; bits >>= 8, base += 8) {
      const uint32_t byte = bits & 0xff;
      const __m256i at = _mm256_cvtepu8_epi32(
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kBits[byte].data())));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + found),
                          _mm256_add_epi32(at, _mm256_set1_epi32(static_cast<int>(base))));
      found += std::popcount(byte);
    }
  }
  for (; i < n; ++i) {
    places[found] = static_cast<int32_t>(i);
    found += mask[i];
  }
  return found;
}

// use(base, places, count, before) for blocks of the mask over the pool: places are relative to
// base, `before` is how many true elements came earlier.
template <class F>
void for_true(const bool* mask, int64_t n, F&& use) {
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<int64_t> before(static_cast<size_t>(chunks), 0);
  if (chunks > 1) {
    parallel_for(chunks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        before[static_cast<size_t>(c)] =
            count_run(mask + c * kChunk, std::min(kChunk, n - c * kChunk));
      }
    });
    int64_t sum = 0;
    for (int64_t& b : before) sum += std::exchange(b, sum);
  }
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    int32_t places[kBlock + 8];
    for (int64_t c = begin; c < end; ++c) {
      int64_t next = before[static_cast<size_t>(c)];
      const int64_t last = std::min(n, (c + 1) * kChunk);
      for (int64_t base = c * kChunk; base < last; base += kBlock) {
        const int count = places_of(mask + base, std::min<int64_t>(kBlock, last - base), places);
        use(base, places, count, next);
        next += count;
      }
    }
  });
}

}  // namespace

int64_t count_true(const bool* mask, int64_t n) {
  return count_run(mask, n);
}

void true_places(const bool* mask, std::span<const int64_t> shape, int64_t* const* to,
                 int64_t step) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  if (n == 0) return;
  const size_t rank = shape.size();
  const int64_t inner = shape.back();
  for_true(mask, n, [&](int64_t base, const int32_t* places, int count, int64_t before) {
    if (rank == 1) {
      int64_t* out = to[0] + before * step;
      for (int k = 0; k < count; ++k) out[k * step] = base + places[k];
      return;
    }
    // Coordinates other than the last change only where a row ends.
    int64_t row = -1, row_begin = 0, row_end = -1;
    int64_t at[16];
    for (int k = 0; k < count; ++k) {
      const int64_t place = base + places[k], out = (before + k) * step;
      if (place >= row_end) {
        row = place / inner;
        row_begin = row * inner;
        row_end = row_begin + inner;
        for (size_t d = rank - 1; d-- > 0;) {
          at[d] = d == 0 ? row : row % shape[d];
          row /= shape[d];
        }
      }
      for (size_t d = 0; d + 1 < rank; ++d) to[d][out] = at[d];
      to[rank - 1][out] = place - row_begin;
    }
  });
}

void select_true(void* target, const bool* mask, int64_t n, const void* source, int64_t row_bytes) {
  if (row_bytes == 0) return;
  with_row(row_bytes, [&](auto move) {
    for_true(mask, n, [&](int64_t base, const int32_t* places, int count, int64_t before) {
      char* to = static_cast<char*>(target) + before * row_bytes;
      const char* from = static_cast<const char*>(source) + base * row_bytes;
      for (int k = 0; k < count; ++k) move(to + k * row_bytes, from + places[k] * row_bytes);
    });
  });
}

void spread_true(void* target, const bool* mask, int64_t n, const void* source, int64_t row_bytes) {
  if (row_bytes == 0) return;
  with_row(row_bytes, [&](auto move) {
    for_true(mask, n, [&](int64_t base, const int32_t* places, int count, int64_t before) {
      char* to = static_cast<char*>(target) + base * row_bytes;
      const char* from = static_cast<const char*>(source) + before * row_bytes;
      std::memset(to, 0, static_cast<size_t>(std::min<int64_t>(kBlock, n - base) * row_bytes));
      for (int k = 0; k < count; ++k) move(to + places[k] * row_bytes, from + k * row_bytes);
    });
  });
}

}  // namespace argosy::cpu
