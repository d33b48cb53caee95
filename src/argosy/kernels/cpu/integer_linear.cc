#include "argosy/kernels/cpu/integer_linear.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/integer_tiles.h"
#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kLeastWork = int64_t{1} << 20;  // products that a thread is woken for

int64_t grain_of(int64_t rows, const CodeRows& p) {
  return std::max<int64_t>(kLeastWork / (rows * std::max<int64_t>(p.k, 1) * 64), 1);
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

CodeRows rows_of(int64_t k, int64_t n, const Codes& x, const void* packed, const float* factor,
                 const PackedEpilogue& epilogue, const CodeResult& y) {
  return {k, n, packed, x.zero + (x.is_signed ? 128 : 0), factor, epilogue, y};
}

// --- windows ---

// The codes of one window after the other, those outside of x as zeros.
class Windows {
 public:
  Windows(const ConvShape& s, const Codes& x)
      : s_(s),
        from_(static_cast<const uint8_t*>(x.at)),
        flip_(x.is_signed ? 0x80 : 0),
        zero_(static_cast<uint8_t>(x.zero + (x.is_signed ? 128 : 0))),
        size_(s.kernel[0] * s.kernel[1] * s.in_channels) {}

  // Rows [first, last) of the matrix of windows.
  void copy(int64_t first, int64_t last, uint8_t* to) const {
    const int64_t step = quads_of(size_) * kQuad;
    for (int64_t row = first; row < last; ++row, to += step) {
      copy_window(row, to);
      std::fill(to + size_, to + step, uint8_t{0});
    }
  }

 private:
  void copy_window(int64_t row, uint8_t* to) const {
    const int64_t c = s_.in_channels;
    const int64_t x = row % s_.out[1] * s_.stride[1] - s_.pad[1];
    const int64_t y = row / s_.out[1] % s_.out[0] * s_.stride[0] - s_.pad[0];
    const uint8_t* image = from_ + row / (s_.out[0] * s_.out[1]) * s_.in[0] * s_.in[1] * c;
    const int64_t dx = s_.dilation[1], width = s_.kernel[1];
    for (int64_t i = 0; i < s_.kernel[0]; ++i, to += width * c) {
      const int64_t line = y + i * s_.dilation[0];
      if (line < 0 || line >= s_.in[0]) {
        std::memset(to, zero_, static_cast<size_t>(width * c));
        continue;
      }
      const uint8_t* pixels = image + line * s_.in[1] * c;
      if (dx == 1 && x >= 0 && x + width <= s_.in[1]) {
        copy_codes(pixels + x * c, to, width * c);
        continue;
      }
      for (int64_t j = 0; j < width; ++j) {
        const int64_t column = x + j * dx;
        if (column < 0 || column >= s_.in[1])
          std::memset(to + j * c, zero_, static_cast<size_t>(c));
        else
          copy_codes(pixels + column * c, to + j * c, c);
      }
    }
  }
  void copy_codes(const uint8_t* from, uint8_t* to, int64_t n) const {
    if (!flip_) {
      std::memcpy(to, from, static_cast<size_t>(n));
      return;
    }
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ flip_;
  }

  const ConvShape& s_;
  const uint8_t* from_;
  const uint8_t flip_, zero_;
  const int64_t size_;
};

bool is_product(const ConvShape& s) {
  for (int d = 0; d < 2; ++d)
    if (s.kernel[d] != 1 || s.stride[d] != 1 || s.pad[d] != 0 || s.in[d] != s.out[d]) return false;
  return true;
}

}  // namespace

void integer_linear(int64_t m, int64_t k, int64_t n, const Codes& x, const void* packed,
                    const float* factor, const PackedEpilogue& epilogue, const CodeResult& y) {
  if (m == 0 || n == 0) return;
  const int64_t step = quads_of(k) * kQuad, panels = integer_panels(n);
  const int64_t chunks = (m + kChunkRows - 1) / kChunkRows;
  const auto* codes = static_cast<const uint8_t*>(x.at);
  std::optional<Scratch> copied;
  if (x.is_signed || k % kQuad) {
    copied.emplace(static_cast<size_t>(m * step));
    copy_codes(m, k, x, copied->as<uint8_t>());
    codes = copied->as<uint8_t>();
  }
  const CodeRows p = rows_of(k, n, x, packed, factor, epilogue, y);
  parallel_for(panels * chunks, grain_of(std::min(m, kChunkRows), p),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t first = task % chunks * kChunkRows;
                   multiply_codes(p, codes + first * step, task / chunks, first,
                                  std::min(first + kChunkRows, m));
                 }
               });
}

void integer_conv(const ConvShape& s, const Codes& x, const void* packed, const float* factor,
                  const PackedEpilogue& epilogue, const CodeResult& y) {
  const int64_t m = s.batch * s.out[0] * s.out[1], n = s.out_channels;
  const int64_t k = s.kernel[0] * s.kernel[1] * s.in_channels;
  if (is_product(s)) return integer_linear(m, k, n, x, packed, factor, epilogue, y);
  if (m == 0 || n == 0) return;
  const Windows windows(s, x);
  const CodeRows p = rows_of(k, n, x, packed, factor, epilogue, y);
  const int64_t panels = integer_panels(n), chunks = (m + kChunkRows - 1) / kChunkRows;
  // A few windows go to many panels; where there are few chunks, the panels are cut, too.
  const int64_t parts = chunks >= 8 ? 1 : std::min<int64_t>(panels, 4);
  const int64_t each = (panels + parts - 1) / parts;
  parallel_for(chunks * parts, grain_of(std::min(m, kChunkRows) * each, p),
               [&](int64_t begin, int64_t end) {
                 const Scratch rows(static_cast<size_t>(kChunkRows * quads_of(k) * kQuad));
                 int64_t copied = -1;
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t chunk = task / parts, first = chunk * kChunkRows;
                   const int64_t last = std::min(first + kChunkRows, m);
                   if (chunk != copied) windows.copy(first, last, rows.as<uint8_t>());
                   copied = chunk;
                   const int64_t from = task % parts * each;
                   for (int64_t j = from; j < std::min(from + each, panels); ++j)
                     multiply_codes(p, rows.as<uint8_t>(), j, first, last);
                 }
               });
}

}  // namespace argosy::cpu
