#pragma once

#ifdef __CUDACC_RTC__
#include "argosy/kernels/cuda/chain_std.cuh"
#else
#include <cstdint>
#endif

namespace argosy::cuda {

// n / d and n % d for 0 <= n < 2^31 without a division (Granlund and Montgomery 1994), by a number
// that the host knows.
struct Divider {
  uint32_t d = 1, magic = 0, shift = 0;
#ifndef __CUDACC_RTC__
  Divider() = default;
  explicit Divider(uint32_t divisor) : d(divisor) {
    while (shift < 32 && (uint64_t{1} << shift) < d) ++shift;
    magic = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
#endif
#ifdef __CUDACC__
  __device__ __forceinline__ uint32_t quotient(uint32_t n) const {
    return (__umulhi(n, magic) + n) >> shift;
  }
#endif
};

}  // namespace argosy::cuda
