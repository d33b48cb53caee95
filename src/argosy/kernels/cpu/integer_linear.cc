#include "argosy/kernels/cpu/integer_linear.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/base/cpu.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/packed.h"

// A packed matrix is the sums of its columns, int32, padded to whole panels, and then its panels of
// 64 columns: of four rows, the four numbers of each column beside each other.
namespace argosy::cpu {
namespace {

#define ARGOSY_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

constexpr int64_t kQuad = 4;           // numbers that one instruction multiplies and adds
constexpr int64_t kLanes = 16;         // sums of a vector
constexpr int kVectors = 4;            // of a panel
constexpr int kRows = 6;               // of a tile
constexpr int64_t kMostDepth = 32768;  // 2^15 products of 2^7 and 2^8 fit 31 bits, and so do zeros
static_assert(kPanel == kVectors * kLanes);

int64_t quads_of(int64_t k) {
  return (k + kQuad - 1) / kQuad;
}
int64_t panels_of(int64_t n) {
  return (n + kPanel - 1) / kPanel;
}

struct Panel {
  const uint8_t* x;  // rows x_step apart, zeros from k on
  int64_t x_step, quads;
  const int8_t* w;
  const int32_t* sums;
  int32_t zero;
  const float *factor, *bias;  // of its columns
  int64_t columns;
  float* y;  // rows y_step apart
  int64_t y_step;
};

// kR rows of the panel's columns.
template <int kR>
ARGOSY_VNNI void tile(const Panel& p, int64_t row) {
  __m512i sum[kR][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_setzero_si512();
  const uint8_t* x = p.x + row * p.x_step;
  const int8_t* w = p.w;
  for (int64_t q = 0; q < p.quads; ++q, x += kQuad, w += kQuad * kPanel) {
    __m512i b[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) b[j] = _mm512_loadu_si512(w + j * kQuad * kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < kR; ++i) {
      int32_t four;
      std::memcpy(&four, x + i * p.x_step, sizeof four);
      const __m512i a = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], a, b[j]);
    }
  }
  const __m512i zero = _mm512_set1_epi32(p.zero);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const int64_t at = j * kLanes, left = std::min(p.columns - at, kLanes);
    if (left <= 0) break;
    const auto there = static_cast<__mmask16>((1u << left) - 1);
    const __m512i of_zero = _mm512_mullo_epi32(zero, _mm512_loadu_si512(p.sums + at));
    const __m512 factor = _mm512_maskz_loadu_ps(there, p.factor + at);
    const __m512 bias = p.bias ? _mm512_maskz_loadu_ps(there, p.bias + at) : _mm512_setzero_ps();
#pragma GCC unroll 6
    for (int i = 0; i < kR; ++i) {
      // (Masked, as GCC 12 warns of what the plain one leaves undefined.)
      const __m512 number = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_sub_epi32(sum[i][j], of_zero));
      _mm512_mask_storeu_ps(p.y + (row + i) * p.y_step + at, there,
                            _mm512_add_ps(_mm512_mul_ps(number, factor), bias));
    }
  }
}

template <int kMost>
void tile_of(int64_t height, const Panel& p, int64_t row) {
  if constexpr (kMost > 1)
    if (height < kMost) return tile_of<kMost - 1>(height, p, row);
  tile<kMost>(p, row);
}

// Rows of whole quads of uint8, whose codes are 128 larger where x is signed. What is past k does
// not count, as the matrix has zeros there.
void copy_codes(int64_t m, int64_t k, const Codes& x, uint8_t* to) {
  const int64_t step = quads_of(k) * kQuad;
  const uint8_t flip = x.is_signed ? 0x80 : 0;
  const auto* from = static_cast<const uint8_t*>(x.at);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) to[i * step + j] = from[i * k + j] ^ flip;
    std::fill(to + i * step + k, to + (i + 1) * step, uint8_t{0});
  }
}

bool is_more(const PackedEpilogue& e) {
  return e.residual || e.post != PostOp::none || e.scale != 1 || e.shift != 0;
}

}  // namespace

int64_t integer_linear_bytes(int64_t k, int64_t n) {
  if (!features().avx512_vnni || k <= 0 || n <= 0 || k > kMostDepth) return 0;
  return panels_of(n) * kPanel * (static_cast<int64_t>(sizeof(int32_t)) + quads_of(k) * kQuad);
}

void pack_integer_linear(int64_t k, int64_t n, const int8_t* w, int64_t row, int64_t column,
                         void* packed) {
  auto* sums = static_cast<int32_t*>(packed);
  auto* codes = reinterpret_cast<int8_t*>(sums + panels_of(n) * kPanel);
  const int64_t depth = quads_of(k) * kQuad;
  parallel_for(panels_of(n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * kPanel; j < end * kPanel; ++j) {
      int8_t* to = codes + j / kPanel * kPanel * depth + j % kPanel * kQuad;
      sums[j] = 0;
      for (int64_t i = 0; i < depth; ++i) {
        const int8_t code = i < k && j < n ? w[i * row + j * column] : int8_t{0};
        to[i / kQuad * kQuad * kPanel + i % kQuad] = code;
        sums[j] += code;
      }
    }
  });
}

void integer_linear(int64_t m, int64_t k, int64_t n, const Codes& x, const void* packed,
                    const float* factor, const PackedEpilogue& epilogue, float* y) {
  constexpr int64_t kChunk = 16 * kRows;            // rows of a task
  constexpr int64_t kLeastWork = int64_t{1} << 20;  // products that a thread is woken for
  if (m == 0 || n == 0) return;
  const int64_t quads = quads_of(k), panels = panels_of(n), chunks = (m + kChunk - 1) / kChunk;
  const auto* codes = static_cast<const uint8_t*>(x.at);
  std::optional<Scratch> copied;
  if (x.is_signed || k % kQuad) {
    copied.emplace(static_cast<size_t>(m * quads * kQuad));
    copy_codes(m, k, x, copied->as<uint8_t>());
    codes = copied->as<uint8_t>();
  }
  const auto* sums = static_cast<const int32_t*>(packed);
  const auto* matrix = reinterpret_cast<const int8_t*>(sums + panels * kPanel);
  const int64_t work = std::min(m, kChunk) * std::max<int64_t>(k, 1) * kPanel;
  parallel_for(panels * chunks, std::max<int64_t>(kLeastWork / work, 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t at = task / chunks * kPanel, first = task % chunks * kChunk;
                   const int64_t last = std::min(first + kChunk, m);
                   const Panel p{codes,
                                 quads * kQuad,
                                 quads,
                                 matrix + at * quads * kQuad,
                                 sums + at,
                                 x.zero + (x.is_signed ? 128 : 0),
                                 factor + at,
                                 epilogue.bias ? epilogue.bias + at : nullptr,
                                 std::min(kPanel, n - at),
                                 y + at,
                                 n};
                   for (int64_t row = first; row < last; row += kRows)
                     tile_of<kRows>(std::min<int64_t>(kRows, last - row), p, row);
                   if (!is_more(epilogue)) continue;
                   for (int64_t row = first; row < last; ++row) {
                     PackedEpilogue rest = epilogue;
                     if (rest.residual) rest.residual += row * n + at;
                     avx512::finish_elements(rest, p.y + row * n, p.columns);
                   }
                 }
               });
}

}  // namespace argosy::cpu
