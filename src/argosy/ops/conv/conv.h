#pragma once

#include "argosy/op/attrs.h"

// Convolutions and pools.
namespace argosy::ops {

struct ConvAttrs {
  std::vector<int64_t> stride, padding;  // one, two for each spatial dimension
  std::string pad_alg = "EXPLICIT";
  std::vector<int64_t> dilation;
  int64_t groups = 1;
  bool cl = false;  // channels last
};
ARGOSY_ATTRS(ConvAttrs, stride, padding, pad_alg, dilation, groups, cl)

struct ConvTransposeAttrs {
  std::vector<int64_t> stride, padding;
  std::string pad_alg = "EXPLICIT";
  std::vector<int64_t> output_padding, dilation;
  int64_t groups = 1;
  op::IntArray output_size;  // of the spatial dimensions; empty: by formula
  bool cl = false;
};
ARGOSY_ATTRS(ConvTransposeAttrs, stride, padding, pad_alg, output_padding, dilation, groups,
             output_size, cl)

// One attribute struct for every pool; each public op's own lists what it takes.
struct PoolAttrs {
  std::vector<int64_t> kernel, stride, padding;
  std::string pad_alg = "EXPLICIT";
  bool ceil_mode = false;
  bool cl = false;
};
ARGOSY_ATTRS(PoolAttrs, kernel, stride, padding, pad_alg, ceil_mode, cl)

struct AvgPoolAttrs {
  std::vector<int64_t> kernel, stride, padding;
  std::string pad_alg = "EXPLICIT";
  bool ceil_mode = false;
  bool exclusive = true;
  double divisor_override = 0;
  bool cl = false;
};
ARGOSY_ATTRS(AvgPoolAttrs, kernel, stride, padding, pad_alg, ceil_mode, exclusive, divisor_override,
             cl)

struct LpPoolAttrs {
  double norm_type = 2;
  std::vector<int64_t> kernel, stride, padding;
  std::string pad_alg = "EXPLICIT";
  bool ceil_mode = false;
  bool cl = false;
};
ARGOSY_ATTRS(LpPoolAttrs, norm_type, kernel, stride, padding, pad_alg, ceil_mode, cl)

struct AdaptivePoolAttrs {
  op::IntArray output_size;
  bool cl = false;
};
ARGOSY_ATTRS(AdaptivePoolAttrs, output_size, cl)

struct UnpoolAttrs {
  op::IntArray output_size;
};
ARGOSY_ATTRS(UnpoolAttrs, output_size)

}  // namespace argosy::ops
