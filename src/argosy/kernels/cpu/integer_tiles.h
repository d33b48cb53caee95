#pragma once

#include <cstdint>

#include "argosy/kernels/cpu/integer_linear.h"

// What products and convolutions of 8-bit integers are made of.
namespace argosy::cpu {

inline constexpr int64_t kQuad = 4;        // numbers that one instruction multiplies and adds
inline constexpr int64_t kChunkRows = 96;  // of a task: whole tiles

inline int64_t quads_of(int64_t k) {
  return (k + kQuad - 1) / kQuad;
}
int64_t integer_panels(int64_t n);  // of a matrix with n columns

// Rows of a product with a packed matrix [k, n].
struct CodeRows {
  int64_t k, n;
  const void* packed;
  int32_t zero;         // of codes as uint8
  const float* factor;  // [n]
  PackedEpilogue epilogue;
  CodeResult result;
};
// Rows [first, last) of y, in the columns of a panel. codes: of row `first` on, quads_of(k) * kQuad
// of each, as uint8.
void multiply_codes(const CodeRows& p, const uint8_t* codes, int64_t panel, int64_t first,
                    int64_t last);

// n numbers as codes.
void store_codes(const float* y, const CodeResult& r, uint8_t* to, int64_t n);

}  // namespace argosy::cpu
