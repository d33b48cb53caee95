#pragma once

#include <string>
#include <vector>

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
  // float32, or the dtype of codes: as quantize_affine has them.
  DType dtype = DType::float32;
  double step = 1, code_zero = 0, low = 0, high = 255;
};
ARGOSY_ATTRS(IntegerLinearAttrs, in, out, zero, post, alpha, beta, scale, shift, dtype, step,
             code_zero, low, high)

struct IntegerConvAttrs {
  int64_t in = 0, out = 0;
  int64_t zero = 0;
  std::vector<int64_t> kernel, stride, padding, dilation;  // padding: top, bottom, left, right
  std::string post;
  double alpha = 0, beta = 0, scale = 1, shift = 0;
  DType dtype = DType::float32;
  double step = 1, code_zero = 0, low = 0, high = 255;
  int64_t groups = 1;  // or as many as channels
};
ARGOSY_ATTRS(IntegerConvAttrs, in, out, zero, kernel, stride, padding, dilation, post, alpha, beta,
             scale, shift, dtype, step, code_zero, low, high, groups)

// Are there dot products of 8-bit integers for it?
ARGOSY_API bool can_pack(const IntegerLinearAttrs& a);
// The op pack_integer_linear.
ARGOSY_API Tensor pack(const Tensor& codes, const IntegerLinearAttrs& a);
// Weights [channels, 1, kernel..] of int8 of an integer_conv2d whose channels are each by itself.
// The op pack_integer_depthwise; undefined where the machine has no such convolution.
ARGOSY_API Tensor pack_depthwise(const Tensor& codes);

}  // namespace argosy::ops
