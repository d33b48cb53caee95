#pragma once

#include "argosy/op/attrs.h"

namespace argosy::op {
struct KernelFrame;
}

// Functions of neural networks that belong to no other family.
namespace argosy::ops {

struct EmbeddingRenormAttrs {
  double max_norm = 1;
  double norm_type = 2;
};
ARGOSY_ATTRS(EmbeddingRenormAttrs, max_norm, norm_type)

struct PixelShuffleAttrs {
  int64_t upscale_factor = 1;
  std::string data_format = "NCHW";
};
ARGOSY_ATTRS(PixelShuffleAttrs, upscale_factor, data_format)

struct PixelUnshuffleAttrs {
  int64_t downscale_factor = 1;
  std::string data_format = "NCHW";
};
ARGOSY_ATTRS(PixelUnshuffleAttrs, downscale_factor, data_format)

struct ChannelShuffleAttrs {
  int64_t groups = 1;
  std::string data_format = "NCHW";
};
ARGOSY_ATTRS(ChannelShuffleAttrs, groups, data_format)

struct TemporalShiftAttrs {
  int64_t seg_num = 1;
  double shift_ratio = 0.25;
  std::string data_format = "NCHW";
  bool reversed = false;  // the gradient: each part moves the other way
};
ARGOSY_ATTRS(TemporalShiftAttrs, seg_num, shift_ratio, data_format, reversed)

struct SequenceMaskAttrs {
  op::IntArray maxlen = {-1};
  DType dtype = DType::int64;
};
ARGOSY_ATTRS(SequenceMaskAttrs, maxlen, dtype)

struct EmbeddingAttrs {
  int64_t padding_idx = -1;
  bool sparse = false;
  bool scale_grad_by_freq = false;
};
ARGOSY_ATTRS(EmbeddingAttrs, padding_idx, sparse, scale_grad_by_freq)

struct OneHotAttrs {
  op::IntArray num_classes = {-1};
};
ARGOSY_ATTRS(OneHotAttrs, num_classes)

struct DropoutMaskAttrs {
  op::Scalar p = 0.5;
  std::vector<int64_t> axis;  // along which the choice varies; empty: all
};
ARGOSY_ATTRS(DropoutMaskAttrs, p, axis)

struct ApplyDropoutAttrs {
  double factor = 1;
};
ARGOSY_ATTRS(ApplyDropoutAttrs, factor)

struct DropoutBitsAttrs {
  op::Scalar p = 0.5;
};
ARGOSY_ATTRS(DropoutBitsAttrs, p)

struct DropoutAttrs {
  op::Scalar p = 0.5;
  std::vector<int64_t> axis;
  bool training = true;
  std::string mode = "upscale_in_train";
};
ARGOSY_ATTRS(DropoutAttrs, p, axis, training, mode)

// Kernels of shuffle.cc; they only copy, wherever op::copy_into does.
ARGOSY_API void pixel_shuffle_run(op::KernelFrame& f, const PixelShuffleAttrs& a);
ARGOSY_API void pixel_unshuffle_run(op::KernelFrame& f, const PixelUnshuffleAttrs& a);
ARGOSY_API void channel_shuffle_run(op::KernelFrame& f, const ChannelShuffleAttrs& a);
ARGOSY_API void channel_unshuffle_run(op::KernelFrame& f, const ChannelShuffleAttrs& a);
ARGOSY_API void temporal_shift_run(op::KernelFrame& f, const TemporalShiftAttrs& a);
struct ClipGradNormAttrs {
  double max_norm = 1;
  double norm_type = 2;
  bool error_if_nonfinite = false;
};
ARGOSY_ATTRS(ClipGradNormAttrs, max_norm, norm_type, error_if_nonfinite)

// Rows of weight; zeros where x is padding_idx (-1: none).
// sparse: the gradient of weight is row-sparse.
ARGOSY_API Tensor embedding(const Tensor& x, const Tensor& weight, int64_t padding_idx = -1,
                            bool sparse = false);
// float32 [.., num_classes].
ARGOSY_API Tensor one_hot(const Tensor& x, int64_t num_classes);
// In training each element is 0 with probability p, the others are divided by 1 - p.
ARGOSY_API Tensor dropout(const Tensor& x, double p, bool training);
// What the others are multiplied by: 1 / (1 - p), 1 if none is left.
double upscale_factor(double p);
// Dropout's choices as bits (kernels/cpu/bits.h): fills `bits` with n of them (0: dropped), and
// their use: x * factor where 1, else 0.
void draw_kept_bits(const Tensor& bits, int64_t n, double p);
Tensor apply_kept_bits(const Tensor& x, const Tensor& bits, double factor);
// (1 - epsilon) * label + epsilon / the size of axis.
ARGOSY_API Tensor smooth_evenly(const Tensor& label, int axis, double epsilon);
ARGOSY_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t axis, double eps);

}  // namespace argosy::ops
