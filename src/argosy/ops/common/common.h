#pragma once

#include "argosy/op/attrs.h"

// Functions of neural networks that belong to no other family.
namespace argosy::ops {

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
