#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Integers of all dtypes by unsigned ones of four widths: fewer kernels.
namespace argosy::cuda {

// Integers of a width.
template <class F>
void with_unsigned(int item_size, F&& f) {
  switch (item_size) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    default:
      return f(Type<uint64_t>{});
  }
}
// What makes integers of a dtype unsigned ones in the same order (exclusive or); `largest`: in the
// reverse order if not.
inline uint64_t order_flip(DType dtype, bool largest) {
  const int bits = item_size(dtype) * 8;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t sign = kSigned.has(dtype) ? uint64_t{1} << (bits - 1) : 0;
  return largest ? sign : sign ^ all;
}

}  // namespace argosy::cuda
