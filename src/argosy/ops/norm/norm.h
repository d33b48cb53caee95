#pragma once

#include "argosy/op/attrs.h"

// Normalizations. Statistics and the parameters of 16-bit inputs may be float32.
namespace argosy::ops {

struct BatchNormAttrs {
  bool batch_stats = false;
  double momentum = 0.9;
  double epsilon = 1e-5;
  bool channel_last = false;
  bool given_own = false;  // without batch_stats: what is given are the statistics of x
};
ARGOSY_ATTRS(BatchNormAttrs, batch_stats, momentum, epsilon, channel_last, given_own)

struct BatchNormGradAttrs {
  double epsilon = 1e-5;
  bool fixed = false;  // the statistics were constants
  bool channel_last = false;
  bool bias = false;  // is dbias wanted?
};
ARGOSY_ATTRS(BatchNormGradAttrs, epsilon, fixed, channel_last, bias)

struct LayerNormAttrs {
  int64_t begin_norm_axis = 1;
  double epsilon = 1e-5;
};
ARGOSY_ATTRS(LayerNormAttrs, begin_norm_axis, epsilon)

struct LayerNormGradAttrs {
  int64_t begin_norm_axis = 1;
  double epsilon = 1e-5;
  bool rms = false;
  bool bias = false;  // is dbias wanted?
};
ARGOSY_ATTRS(LayerNormGradAttrs, begin_norm_axis, epsilon, rms, bias)

struct GroupNormAttrs {
  int64_t num_groups = 1;
  double epsilon = 1e-5;
  bool channel_last = false;
};
ARGOSY_ATTRS(GroupNormAttrs, num_groups, epsilon, channel_last)

struct GroupNormGradAttrs {
  int64_t num_groups = 1;  // 0: one for each channel
  double epsilon = 1e-5;
  bool channel_last = false;
  bool bias = false;  // is dbias wanted?
};
ARGOSY_ATTRS(GroupNormGradAttrs, num_groups, epsilon, channel_last, bias)

struct InstanceNormAttrs {
  double epsilon = 1e-5;
  bool channel_last = false;
};
ARGOSY_ATTRS(InstanceNormAttrs, epsilon, channel_last)

struct NormAlongAttrs {
  double p = 2;
  op::IntArray axis = op::IntArray::all();
};
ARGOSY_ATTRS(NormAlongAttrs, p, axis)
struct ChannelWindowAttrs {
  int64_t axis = 1;
  int64_t before = 0, after = 0;  // how many neighbours on each side
};
ARGOSY_ATTRS(ChannelWindowAttrs, axis, before, after)

struct SpectralAttrs {
  int64_t dim = 0;
  int64_t power_iters = 1;
  double eps = 1e-12;
};
ARGOSY_ATTRS(SpectralAttrs, dim, power_iters, eps)

// weight and bias may be undefined.
ARGOSY_API Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t begin_norm_axis, double epsilon);
ARGOSY_API Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t num_groups, double epsilon, bool channel_last);
// The p-norm over axes, kept with size 1; its gradient is 0 where the norm is.
ARGOSY_API Tensor norm_along(const Tensor& x, double p, const op::IntArray& axes);

}  // namespace argosy::ops
