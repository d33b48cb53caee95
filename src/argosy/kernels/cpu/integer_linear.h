#pragma once

#include <cstdint>

#include "argosy/kernels/cpu/packed.h"

// Products of 8-bit integers with a constant matrix of int8, by the dot products of four that
// AVX-512 VNNI has. Sums are those of integers, so they are exact and the same for all threads.
namespace argosy::cpu {

// Bytes of a matrix [k, n] in the order that the products read; 0 where the machine has no such
// dot products, or sums might not fit 32 bits.
ARGOSY_API int64_t integer_linear_bytes(int64_t k, int64_t n);
// w[i, j] is at w[i * row + j * column].
ARGOSY_API void pack_integer_linear(int64_t k, int64_t n, const int8_t* w, int64_t row,
                                    int64_t column, void* packed);

// Rows [m, k] of codes: uint8, or int8 where is_signed. A code stands for itself less `zero`.
struct Codes {
  const void* at;
  bool is_signed;
  int32_t zero;
};
// Where results go: numbers, or their codes round(y / step) + zero within [low, high].
struct CodeResult {
  void* at;  // float32, or 8-bit codes
  bool codes = false;
  float step = 1, zero = 0, low = 0, high = 255;
};
// n numbers as codes; false, and nothing done, where the machine has no such vectors.
ARGOSY_API bool quantize(const float* x, int64_t n, const CodeResult& y);
// y[m, n] = epilogue(factor[n] * (x * w)).
ARGOSY_API void integer_linear(int64_t m, int64_t k, int64_t n, const Codes& x, const void* packed,
                               const float* factor, const PackedEpilogue& epilogue,
                               const CodeResult& y);
// A convolution of one group and two dimensions with channels last; its weights are a packed matrix
// [kernel.. * in channels, out channels]. What x is padded with are zeros.
ARGOSY_API void integer_conv(const ConvShape& shape, const Codes& x, const void* packed,
                             const float* factor, const PackedEpilogue& epilogue,
                             const CodeResult& y);

// The same of a convolution whose channels are each by itself: weights [channels, taps], which are
// packed as numbers, since their sums are exact as such. 0 bytes where integer_linear_bytes() is 0,
// and for sums that are not.
ARGOSY_API int64_t integer_depthwise_bytes(int64_t channels, int64_t taps);
ARGOSY_API void pack_integer_depthwise(int64_t channels, int64_t taps, const int8_t* w,
                                       void* packed);
ARGOSY_API void integer_depthwise(const ConvShape& shape, const Codes& x, const void* packed,
                                  const float* factor, const PackedEpilogue& epilogue,
                                  const CodeResult& y);

}  // namespace argosy::cpu
