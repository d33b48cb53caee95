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

struct MulticlassAttrs {
  int64_t background_label = 0;
  double score_threshold = 0;
  int64_t nms_top_k = -1;
  double nms_threshold = 0.3;
  int64_t keep_top_k = -1;
  double nms_eta = 1;
  bool normalized = true;
};
ARGOSY_ATTRS(MulticlassAttrs, background_label, score_threshold, nms_top_k, nms_threshold,
             keep_top_k, nms_eta, normalized)

struct ProposalAttrs {
  int64_t pre_nms_top_n = 6000;
  int64_t post_nms_top_n = 1000;
  double nms_thresh = 0.5;
  double min_size = 0.1;
  double eta = 1;
  bool pixel_offset = false;
};
ARGOSY_ATTRS(ProposalAttrs, pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, eta, pixel_offset)

}  // namespace argosy::ops
