#pragma once

#include "argosy/op/attrs.h"

// Attributes of ops on regions of images.
namespace argosy::ops {

struct RoiAttrs {
  int64_t pooled_height = 1, pooled_width = 1;
  double spatial_scale = 1;
  int64_t sampling_ratio = -1;
  bool aligned = true;
};
ARGOSY_ATTRS(RoiAttrs, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned)

struct DeformAttrs {
  std::vector<int64_t> kernel, stride, padding, dilation;
  int64_t groups = 1;
};
ARGOSY_ATTRS(DeformAttrs, kernel, stride, padding, dilation, groups)

struct SuppressAttrs {
  double threshold = 0.3;
  double extra = 0;
  double eta = 1;
};
ARGOSY_ATTRS(SuppressAttrs, threshold, extra, eta)

}  // namespace argosy::ops
