#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Choices of one bit each, as dropout keeps them: element i is kept if bit i % 8 of byte i / 8
// is 1.
namespace argosy::cpu {

constexpr int64_t bytes_of_bits(int64_t n) {
  return (n + 7) / 8;
}

// n flags (bytes that are 0 or 1) as bits; n a multiple of 8.
ARGOSY_API void pack_bits(const uint8_t* flags, int64_t n, uint8_t* bits);

// y = x * factor where kept, else 0: n elements, the first of which is number `first` of `total`.
// type: floating; 16-bit floats compute in float32. y may be x. On the calling thread.
ARGOSY_API void keep_by_bits(DType type, const void* x, const uint8_t* bits, int64_t first,
                             int64_t n, int64_t total, double factor, void* y);

}  // namespace argosy::cpu
