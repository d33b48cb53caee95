#include "argosy/kernels/cpu/bits.h"

#include <cstring>

#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/attention.h"
#include "argosy/kernels/cpu/simd/rows.h"

namespace argosy::cpu {

void pack_bits(const uint8_t* flags, int64_t n, uint8_t* bits) {
  for (int64_t i = 0; i < n; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + i, 8);
    *bits++ = static_cast<uint8_t>(eight * 0x0102040810204080u >> 56);  // byte k to bit k
  }
}

void keep_by_bits(DType type, const void* x, const uint8_t* bits, int64_t first, int64_t n,
                  int64_t total, double factor, void* y) {
  const KeepKernel* kernels = isa() == Isa::avx512 ? avx512::keep_kernels : avx2::keep_kernels;
  kernels[floating_index(type)](x, bits, first, n, total, factor, y);
}

}  // namespace argosy::cpu
