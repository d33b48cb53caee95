#include "argosy/kernels/cpu/bits.h"

#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/attention.h"
#include "argosy/kernels/cpu/simd/rows.h"

namespace argosy::cpu {

void keep_by_bits(DType type, const void* x, const uint8_t* bits, int64_t first, int64_t n,
                  int64_t total, double factor, void* y) {
  const KeepKernel* kernels = isa() == Isa::avx512 ? avx512::keep_kernels : avx2::keep_kernels;
  kernels[floating_index(type)](x, bits, first, n, total, factor, y);
}

}  // namespace argosy::cpu
