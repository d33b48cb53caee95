#pragma once

#include "argosy/kernels/cpu/conv.h"
#include "argosy/kernels/cpu/pool.h"
#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

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

// For kernels: x and y as conv(x, w) = y sees them.
ARGOSY_API cpu::ConvShape conv_kernel_shape(const char* op, const Shape& x, const Shape& w,
                                            const Shape& y, const ConvAttrs& a);

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

// The attributes of the convolution from the output to x. Its padding is that of x, so "SAME",
// which depends on a size, is made explicit.
ARGOSY_API ConvAttrs explicit_attrs(const Shape& x, const Shape& w, const ConvTransposeAttrs& t);

// One attribute struct for every pool; each public op's own lists what it takes.
struct PoolAttrs {
  std::vector<int64_t> kernel, stride, padding;
  std::string pad_alg = "EXPLICIT";
  bool ceil_mode = false;
  bool cl = false;
};
ARGOSY_ATTRS(PoolAttrs, kernel, stride, padding, pad_alg, ceil_mode, cl)

// For kernels; without kernel sizes of the adaptive form.
ARGOSY_API cpu::PoolShape pool_kernel_shape(const char* op, const Shape& x, const Shape& y,
                                            const PoolAttrs& a);

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

struct FractionalAttrs {
  std::vector<int64_t> output_size;  // -1: that of x
  std::vector<int64_t> kernel;       // of windows that overlap; 0: disjoint ones
  op::Scalar u = 0.5;                // of (0, 1): where the windows lie
};
ARGOSY_ATTRS(FractionalAttrs, output_size, kernel, u)

// A window along one dimension.
struct PoolRange {
  int64_t begin, end;
};
// Pseudo-random windows along one dimension, rounded as in float32. [= Paddle]
ARGOSY_API std::vector<PoolRange> fractional_ranges(int64_t in, int64_t out, int64_t kernel,
                                                    float u);

}  // namespace argosy::ops
