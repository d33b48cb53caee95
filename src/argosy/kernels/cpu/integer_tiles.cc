#include "argosy/kernels/cpu/integer_tiles.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/cpu.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/simd/packed.h"

// A packed matrix is the sums of its columns, int32, padded to whole panels, and then its panels of
// 64 columns: of four rows, the four numbers of each column beside each other.
namespace argosy::cpu {
namespace {

#define ARGOSY_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

constexpr int64_t kLanes = 16;         // sums of a vector
constexpr int kVectors = 4;            // of a panel
constexpr int64_t kMostDepth = 32768;  // 2^15 products of 2^7 and 2^8 fit 31 bits, and so do zeros
static_assert(kPanel == kVectors * kLanes);

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

bool is_more(const PackedEpilogue& e) {
  return e.residual || e.post != PostOp::none || e.scale != 1 || e.shift != 0;
}

}  // namespace

ARGOSY_VNNI void store_codes(const float* y, const CodeResult& r, uint8_t* to, int64_t n) {
  const __m512 step = _mm512_set1_ps(r.step), zero = _mm512_set1_ps(r.zero);
  const __m512 low = _mm512_set1_ps(r.low), high = _mm512_set1_ps(r.high);
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto there = static_cast<__mmask16>(n - i < kLanes ? (1u << (n - i)) - 1 : 0xffff);
    const __m512 of = _mm512_div_ps(_mm512_maskz_loadu_ps(there, y + i), step);
    const __m512 whole =
        _mm512_maskz_roundscale_ps(0xffff, of, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // max gives its second operand for what is no number: that becomes the lowest code.
    const __m512 least = _mm512_maskz_max_ps(0xffff, _mm512_add_ps(whole, zero), low);
    const __m512 code = _mm512_maskz_min_ps(0xffff, least, high);
    _mm512_mask_cvtepi32_storeu_epi8(to + i, there, _mm512_maskz_cvtps_epi32(0xffff, code));
  }
}

int64_t integer_panels(int64_t n) {
  return (n + kPanel - 1) / kPanel;
}

int64_t integer_linear_bytes(int64_t k, int64_t n) {
  if (!features().avx512_vnni || k <= 0 || n <= 0 || k > kMostDepth) return 0;
  return integer_panels(n) * kPanel * (static_cast<int64_t>(sizeof(int32_t)) + quads_of(k) * kQuad);
}

void pack_integer_linear(int64_t k, int64_t n, const int8_t* w, int64_t row, int64_t column,
                         void* packed) {
  auto* sums = static_cast<int32_t*>(packed);
  auto* codes = reinterpret_cast<int8_t*>(sums + integer_panels(n) * kPanel);
  const int64_t depth = quads_of(k) * kQuad;
  parallel_for(integer_panels(n), 1, [&](int64_t begin, int64_t end) {
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

void multiply_codes(const CodeRows& p, const uint8_t* codes, int64_t panel, int64_t first,
                    int64_t last) {
  const int64_t at = panel * kPanel, quads = quads_of(p.k), columns = std::min(kPanel, p.n - at);
  const auto* sums = static_cast<const int32_t*>(p.packed);
  const auto* matrix = reinterpret_cast<const int8_t*>(sums + integer_panels(p.n) * kPanel);
  alignas(64) float numbers[kTileRows * kPanel];
  const bool narrow = p.result.codes;
  float* const y = narrow ? nullptr : static_cast<float*>(p.result.at) + at;
  for (int64_t row = first; row < last; row += kTileRows) {
    const int64_t height = std::min<int64_t>(kTileRows, last - row);
    float* const to = narrow ? numbers : y + row * p.n;
    const int64_t step = narrow ? kPanel : p.n;
    const Panel tile{codes + (row - first) * quads * kQuad,
                     quads * kQuad,
                     quads,
                     matrix + at * quads * kQuad,
                     sums + at,
                     p.zero,
                     p.factor + at,
                     p.epilogue.bias ? p.epilogue.bias + at : nullptr,
                     columns,
                     to,
                     step};
    tile_of<kTileRows>(height, tile, 0);
    for (int64_t i = 0; i < height; ++i) {
      if (is_more(p.epilogue)) {
        PackedEpilogue rest = p.epilogue;
        if (rest.residual) rest.residual += (row + i) * p.n + at;
        avx512::finish_elements(rest, to + i * step, columns);
      }
      if (narrow)
        store_codes(to + i * step, p.result,
                    static_cast<uint8_t*>(p.result.at) + (row + i) * p.n + at, columns);
    }
  }
}

}  // namespace argosy::cpu
