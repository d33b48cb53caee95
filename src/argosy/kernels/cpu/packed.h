#pragma once

#include <cstdint>

#include "argosy/base/export.h"
#include "argosy/kernels/cpu/conv.h"

// Products and convolutions with weights that were put into the order that the machine reads
// fastest once, ahead of many runs, and with what follows them (bias, residual, activation) applied
// while results are in registers. float32. An element is summed up in the same order however work
// is cut, so results do not depend on the number of threads.
//
// Packed weights are bytes for this machine and this library: never saved. Which order they have is
// a function of what they were packed for, so whoever packs and whoever runs say the same.
namespace argosy::cpu {

enum class PostOp : uint8_t {
  none,
  relu,  // slope alpha below 0
  clip,  // to [alpha, beta]
  elu,   // alpha
  sigmoid,
  tanh,
  silu,
  gelu,
  gelu_tanh,
  hardswish,
  hardsigmoid,  // slope alpha, offset beta
};

// y = scale * post(product + bias + residual) + shift.
struct PackedEpilogue {
  const float* bias = nullptr;      // one for each output column or channel
  const float* residual = nullptr;  // in y's form
  PostOp post = PostOp::none;
  float alpha = 0, beta = 0;
  float scale = 1, shift = 0;
};

// --- products with a matrix [k, n] ---

// 0 where there is nothing better than gemm().
ARGOSY_API int64_t packed_linear_bytes(int64_t k, int64_t n);
// w[i, j] is at w[i * row + j * column].
ARGOSY_API void pack_linear(int64_t k, int64_t n, const float* w, int64_t row, int64_t column,
                            void* packed);
// y[m, n] = x[m, k] * w, rows without gaps.
ARGOSY_API void packed_linear(int64_t m, int64_t k, int64_t n, const float* x, const void* packed,
                              const PackedEpilogue& epilogue, float* y);

// --- convolutions of two dimensions, channels last ---

// `form`: of a convolution of one image with these weights, whose sizes are typical. 0 where there
// is nothing better than conv_forward().
ARGOSY_API int64_t packed_conv_bytes(const ConvShape& form);
// w is [out_channels, in_channels / groups, kernel..].
ARGOSY_API void pack_conv(const ConvShape& form, const float* w, void* packed);
// `form` as it was packed for; `shape` may have any batch and spatial sizes.
ARGOSY_API void packed_conv(const ConvShape& form, const ConvShape& shape, const float* x,
                            const void* packed, const PackedEpilogue& epilogue, float* y);

}  // namespace argosy::cpu
