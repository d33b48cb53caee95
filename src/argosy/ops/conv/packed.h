#pragma once

#include <string>
#include <vector>

#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

// Products and convolutions with packed weights (kernels/cpu/packed.h): what passes make of those
// of a model whose weights are final. What follows the product is a part of them: y = scale *
// post(product + bias + residual) + shift, where `post` names an activation and alpha and beta are
// its numbers.
namespace argosy::ops {

struct PackedLinearAttrs {
  int64_t in = 0, out = 0;
  std::string post;
  double alpha = 0, beta = 0, scale = 1, shift = 0;
};
ARGOSY_ATTRS(PackedLinearAttrs, in, out, post, alpha, beta, scale, shift)

struct PackedConvAttrs {
  int64_t in = 0, out = 0, groups = 1;
  std::vector<int64_t> kernel, stride, padding, dilation;  // padding: top, bottom, left, right
  std::vector<int64_t> form;  // spatial sizes that the weights were packed for
  std::string post;
  double alpha = 0, beta = 0, scale = 1, shift = 0;
};
ARGOSY_ATTRS(PackedConvAttrs, in, out, groups, kernel, stride, padding, dilation, form, post, alpha,
             beta, scale, shift)

// Is there an order for such weights that is better than the usual one?
ARGOSY_API bool can_pack(const PackedLinearAttrs& a);
ARGOSY_API bool can_pack(const PackedConvAttrs& a);
// Bytes of weights that are packed; 0 where there is no such order.
ARGOSY_API int64_t packed_bytes(const PackedLinearAttrs& a);
ARGOSY_API int64_t packed_bytes(const PackedConvAttrs& a);
// The ops pack_linear and pack_conv2d.
ARGOSY_API Tensor pack(const Tensor& weight, const PackedLinearAttrs& a);
ARGOSY_API Tensor pack(const Tensor& weight, const PackedConvAttrs& a);

}  // namespace argosy::ops
