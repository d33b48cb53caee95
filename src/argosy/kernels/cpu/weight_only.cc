#include "argosy/kernels/cpu/weight_only.h"

#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/weight_only.h"

namespace argosy::cpu {
namespace {

// Rows of bytes: with 4 bits each has two rows of codes.
int64_t byte_rows(const WeightOnly& w) {
  return w.bits == 4 ? w.n / 2 : w.n;
}

// Rows of bytes that one chunk of the pool takes: some 32 KiB.
int64_t grain_of(const WeightOnly& w) {
  constexpr int64_t kBytes = 1 << 15, kBlock = 8;
  return std::max<int64_t>(kBytes / std::max<int64_t>(w.k, 1) / kBlock, 1) * kBlock;
}

}  // namespace

void weight_only_product(const WeightOnly& w, int64_t m, const float* x, const float* bias,
                         float* y) {
  const auto rows = isa() == Isa::avx512 ? avx512::weight_only_rows : avx2::weight_only_rows;
  parallel_for(byte_rows(w), grain_of(w), [&](int64_t begin, int64_t end) {
    rows({w, m, x, bias, y}, begin, end);
  });
}

void weight_only_numbers(const WeightOnly& w, float* to) {
  const int shared = w.bits == 4 ? 2 : 1;
  parallel_for(byte_rows(w), grain_of(w), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j)
      for (int r = 0; r < shared; ++r) {
        const int64_t row = j * shared + r;
        const int8_t* codes = w.codes + j * w.k;
        float* out = to + row * w.k;
        for (int64_t first = 0; first < w.k; first += w.group) {
          const float scale = w.scale[first / w.group * w.n + row];
          const int64_t last = std::min(first + w.group, w.k);
          // The wanted bits go to the top, whence they are shifted down with their sign.
          const int up = w.bits == 8 ? 24 : r ? 24 : 28, down = w.bits == 8 ? 24 : 28;
          for (int64_t i = first; i < last; ++i)
            out[i] =
                scale * static_cast<float>(
                            static_cast<int32_t>(static_cast<uint32_t>(codes[i]) << up) >> down);
        }
      }
  });
}

}  // namespace argosy::cpu
