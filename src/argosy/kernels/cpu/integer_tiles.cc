#include "argosy/kernels/cpu/integer_tiles.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "argosy/base/cpu.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/simd/packed.h"

// A packed matrix is the sums of its columns, int32, padded to whole panels, and then its panels of
// 64 columns: of four rows, the four numbers of each column beside each other.
namespace argosy::cpu {
namespace {

#define ARGOSY_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define ARGOSY_VNNI_INLINE ARGOSY_VNNI __attribute__((always_inline)) inline

constexpr int64_t kLanes = 16;         // sums of a vector
constexpr int kVectors = 4;            // of a panel
constexpr int64_t kMostDepth = 32768;  // 2^15 products of 2^7 and 2^8 fit 31 bits, and so do zeros
static_assert(kPanel == kVectors * kLanes);

// Rows of a tile of so many vectors: enough sums to hide how long one takes, and registers for
// them.
constexpr int kRowsOf[] = {0, 12, 12, 8, 6};
constexpr int kMostRows = 12;

// --- codes of numbers ---

// (Masked, as GCC 12 warns of what the plain ones leave undefined.) Where one is no number, both
// give their second operand.
ARGOSY_VNNI_INLINE __m512 max_of(__m512 a, __m512 b) {
  return _mm512_maskz_max_ps(0xffff, a, b);
}
ARGOSY_VNNI_INLINE __m512 min_of(__m512 a, __m512 b) {
  return _mm512_maskz_min_ps(0xffff, a, b);
}

// Whether codes may be made by the inverse of the step, which takes half as long as a division, of
// numbers within the bounds below. The zero point is whole then, and all is far from overflow.
bool is_usual(const CodeResult& r) {
  constexpr float kCode = 512, kLarge = 0x1p100f;
  return r.step >= 1 / kLarge && r.step <= kLarge && std::abs(r.zero) <= kCode &&
         r.zero == std::floor(r.zero) && r.low >= -kCode && r.low == std::floor(r.low) &&
         r.high <= kCode && r.high == std::floor(r.high) && r.low <= r.high;
}
// The numbers of the lowest and of the highest code: what is beyond gets the same code as they.
float least_of(const CodeResult& r) {
  return (r.low - r.zero) * r.step;
}
float most_of(const CodeResult& r) {
  return (r.high - r.zero) * r.step;
}

struct Coder {
  __m512 step, inverse, least, most;
  __m512i zero;
};
ARGOSY_VNNI_INLINE Coder coder_of(const CodeResult& r) {
  return {_mm512_set1_ps(r.step), _mm512_set1_ps(1 / r.step), _mm512_set1_ps(least_of(r)),
          _mm512_set1_ps(most_of(r)), _mm512_set1_epi32(static_cast<int32_t>(r.zero))};
}

// REQUIRES: is_usual(). The quotient is rounded as a division rounds: by an inverse that is rounded
// itself it is wrong in the last place or two, after the first correction next to the right one,
// and after the second one that (Markstein's theorem). What is no number becomes the lowest code.
ARGOSY_VNNI_INLINE __m128i codes_of(const Coder& c, __m512 y) {
  y = min_of(max_of(y, c.least), c.most);
  __m512 q = _mm512_mul_ps(y, c.inverse);
  q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, c.step, y), c.inverse, q);
  q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, c.step, y), c.inverse, q);
  const __m512i whole = _mm512_maskz_cvt_roundps_epi32(
      0xffff, q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);  // halves to even
  return _mm512_maskz_cvtepi32_epi8(0xffff, _mm512_add_epi32(whole, c.zero));
}

// The same for any result.
ARGOSY_VNNI_INLINE __m128i divided_codes(const CodeResult& r, __m512 y) {
  const __m512 whole = _mm512_maskz_roundscale_ps(0xffff, _mm512_div_ps(y, _mm512_set1_ps(r.step)),
                                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 code =
      min_of(max_of(_mm512_add_ps(whole, _mm512_set1_ps(r.zero)), _mm512_set1_ps(r.low)),
             _mm512_set1_ps(r.high));
  return _mm512_maskz_cvtepi32_epi8(0xffff, _mm512_maskz_cvttps_epi32(0xffff, code));
}

ARGOSY_VNNI_INLINE void store_some(uint8_t* to, __m128i codes, __mmask16 there) {
  if (there == 0xffff)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), codes);
  else
    _mm_mask_storeu_epi8(to, there, codes);
}

// --- tiles ---

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
  // What else is done in registers, if follows_in_registers(): a residual, whose rows are `step`
  // apart, is added, results are put within [least, most], and become codes, whose rows are, too.
  const float* residual;
  bool is_bounded;
  float least, most;
  uint8_t* codes;
  int64_t step;
  const CodeResult* result;
};

bool follows_in_registers(const PackedEpilogue& e, const CodeResult& r) {
  const bool post =
      e.post == PostOp::none || (e.post == PostOp::relu && e.alpha == 0) || e.post == PostOp::clip;
  return post && e.scale == 1 && e.shift == 0 && (!r.codes || is_usual(r));
}

// Of `rows` rows, whose sums are kPanel apart. One function for all tiles: it is several times the
// code of their products.
template <bool kCodes>
ARGOSY_VNNI __attribute__((noinline)) void finish(const Panel& p, const int32_t* sums, int rows) {
  const Coder coder = coder_of(*p.result);
  const __m512 least = _mm512_set1_ps(p.least), most = _mm512_set1_ps(p.most);
  for (int64_t at = 0; at < p.columns; at += kLanes) {
    const int64_t left = std::min(p.columns - at, kLanes);
    const auto there = static_cast<__mmask16>((1u << left) - 1);
    const __m512 factor = _mm512_maskz_loadu_ps(there, p.factor + at);
    const __m512 bias = p.bias ? _mm512_maskz_loadu_ps(there, p.bias + at) : _mm512_setzero_ps();
    for (int i = 0; i < rows; ++i) {
      const __m512i sum = _mm512_load_si512(sums + i * kPanel + at);
      const __m512 number = _mm512_maskz_cvtepi32_ps(0xffff, sum);
      __m512 y = _mm512_add_ps(_mm512_mul_ps(number, factor), bias);
      if (p.residual)
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(there, p.residual + i * p.step + at));
      if (p.is_bounded) y = min_of(most, max_of(least, y));
      if constexpr (kCodes)
        store_some(p.codes + i * p.step + at, codes_of(coder, y), there);
      else
        _mm512_mask_storeu_ps(p.y + i * p.y_step + at, there, y);
    }
  }
}

// kR rows of the panel's columns, which are kV vectors.
template <int kR, int kV>
ARGOSY_VNNI void tile(const Panel& p) {
  __m512i sum[kR][kV];
  const __m512i less = _mm512_set1_epi32(-p.zero);
#pragma GCC unroll 4
  for (int j = 0; j < kV; ++j) {
    const __m512i begin = _mm512_mullo_epi32(less, _mm512_loadu_si512(p.sums + j * kLanes));
#pragma GCC unroll 12
    for (int i = 0; i < kR; ++i) sum[i][j] = begin;
  }
  const uint8_t* x = p.x;
  const int8_t* w = p.w;
  for (int64_t q = 0; q < p.quads; ++q, x += kQuad, w += kQuad * kPanel) {
    __m512i b[kV];
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) b[j] = _mm512_loadu_si512(w + j * kQuad * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kR; ++i) {
      int32_t four;
      std::memcpy(&four, x + i * p.x_step, sizeof four);
      const __m512i a = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int j = 0; j < kV; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], a, b[j]);
    }
  }
  alignas(64) int32_t sums[kR * kPanel];
#pragma GCC unroll 12
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kV; ++j) _mm512_store_si512(sums + i * kPanel + j * kLanes, sum[i][j]);
  p.codes ? finish<true>(p, sums, kR) : finish<false>(p, sums, kR);
}

using Tile = void (*)(const Panel& p);
// Of 1, 2, 4 and all rows.
template <int kV>
constexpr Tile kTiles[] = {tile<1, kV>, tile<2, kV>, tile<4, kV>, tile<kRowsOf[kV], kV>};
constexpr const Tile* kTilesOf[] = {nullptr, kTiles<1>, kTiles<2>, kTiles<3>, kTiles<4>};

}  // namespace

ARGOSY_VNNI void store_codes(const float* y, const CodeResult& r, uint8_t* to, int64_t n) {
  const Coder coder = coder_of(r);
  const bool usual = is_usual(r);
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto there = static_cast<__mmask16>(n - i < kLanes ? (1u << (n - i)) - 1 : 0xffff);
    const __m512 x = _mm512_maskz_loadu_ps(there, y + i);
    store_some(to + i, usual ? codes_of(coder, x) : divided_codes(r, x), there);
  }
}

bool quantize(const float* x, int64_t n, const CodeResult& y) {
  if (!features().avx512_vnni) return false;
  store_codes(x, y, static_cast<uint8_t*>(y.at), n);
  return true;
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
  const int64_t vectors = (columns + kLanes - 1) / kLanes, most = kRowsOf[vectors];
  const Tile* const tiles = kTilesOf[vectors];
  const PackedEpilogue& e = p.epilogue;
  const bool narrow = p.result.codes, at_once = follows_in_registers(e, p.result);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float least = -kInfinity, highest = kInfinity;
  if (e.post == PostOp::relu) least = 0;
  if (e.post == PostOp::clip) least = e.alpha, highest = e.beta;
  // Bounds that the codes have anyway are not looked at.
  const bool is_bounded =
      narrow ? least > least_of(p.result) || highest < most_of(p.result) : e.post != PostOp::none;
  alignas(64) float numbers[kMostRows * kPanel];  // of codes that are not made in registers
  for (int64_t row = first, height; row < last; row += height) {
    const int64_t left = last - row, to = row * p.n + at;
    const int which = left >= most ? 3 : left >= 4 ? 2 : left >= 2 ? 1 : 0;
    height = which == 3 ? most : 1 << which;
    Panel tile{};
    tile.x = codes + (row - first) * quads * kQuad;
    tile.x_step = quads * kQuad;
    tile.quads = quads;
    tile.w = matrix + at * quads * kQuad;
    tile.sums = sums + at;
    tile.zero = p.zero;
    tile.factor = p.factor + at;
    tile.bias = e.bias ? e.bias + at : nullptr;
    tile.columns = columns;
    tile.result = &p.result;
    tile.step = p.n;
    tile.is_bounded = at_once && is_bounded;
    tile.least = least;
    tile.most = highest;
    auto* const code = narrow ? static_cast<uint8_t*>(p.result.at) + to : nullptr;
    tile.y = narrow ? numbers : static_cast<float*>(p.result.at) + to;
    tile.y_step = narrow ? kPanel : p.n;
    if (at_once) {
      tile.residual = e.residual ? e.residual + to : nullptr;
      tile.codes = code;
    }
    tiles[which](tile);
    if (at_once) continue;
    for (int64_t i = 0; i < height; ++i) {
      PackedEpilogue rest = e;
      if (rest.residual) rest.residual += to + i * p.n;
      float* const y = tile.y + i * tile.y_step;
      avx512::finish_elements(rest, y, columns);
      if (narrow) store_codes(y, p.result, code + i * p.n, columns);
    }
  }
}

}  // namespace argosy::cpu
