#pragma once

#include <string>

#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

// Numbers as codes, and products of codes. A code q of 8 bits stands for scale * (q - zero).
namespace argosy::ops {

struct QuantizeAttrs {
  double low = 0, high = 255;  // of the codes
  DType dtype = DType::uint8;
};
ARGOSY_ATTRS(QuantizeAttrs, low, high, dtype)

struct IntegerLinearAttrs {
  int64_t in = 0, out = 0;
  int64_t zero = 0;  // of x
  // What follows the product, as of packed_linear (ops/conv/packed.h).
  std::string post;
  double alpha = 0, beta = 0, scale = 1, shift = 0;
};
ARGOSY_ATTRS(IntegerLinearAttrs, in, out, zero, post, alpha, beta, scale, shift)

// Are there dot products of 8-bit integers for it?
ARGOSY_API bool can_pack(const IntegerLinearAttrs& a);
// The op pack_integer_linear.
ARGOSY_API Tensor pack(const Tensor& codes, const IntegerLinearAttrs& a);

}  // namespace argosy::ops
