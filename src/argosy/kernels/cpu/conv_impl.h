#pragma once

#include "argosy/kernels/cpu/conv.h"

// The ways conv.cc has to compute a convolution. Private to kernels/cpu.
namespace argosy::cpu {

struct ConvSizes {
  explicit ConvSizes(const ConvShape& s) {
    for (int d = 0; d < s.dims; ++d) {
      in *= s.in[d];
      out *= s.out[d];
      kernel *= s.kernel[d];
    }
    weights = s.out_channels * (s.in_channels / s.groups) * kernel;
    x = s.batch * s.in_channels * in;
    y = s.batch * s.out_channels * out;
  }
  int64_t in = 1, out = 1, kernel = 1;  // spatial elements
  int64_t weights, x, y;                // whole tensors
};

// By oneDNN; false where it has nothing better than loops for the case. x, y, w and their gradients
// are float32 or, with `half`, bfloat16; biases and what is summed over images are float32.
bool onednn_conv_forward(const ConvShape& s, bool half, const void* x, const void* w,
                         const float* bias, void* y);
bool onednn_conv_backward_data(const ConvShape& s, bool half, const void* dy, const void* w,
                               void* dx);
bool onednn_conv_backward_weights(const ConvShape& s, bool half, const void* x, const void* dy,
                                  float* dw, float* dbias);

// float32 and float64 as matrix products, through a matrix of patches where the kernel is not 1x1.
template <class T>
void gemm_conv_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y);
template <class T>
void gemm_conv_backward_data(const ConvShape& s, const T* dy, const T* w, T* dx);
template <class T>
void gemm_conv_backward_weights(const ConvShape& s, const T* x, const T* dy, T* dw);
// dbias[c] = sum of dy over all but channels.
template <class T>
void conv_bias_gradient(const ConvShape& s, const T* dy, T* dbias);

}  // namespace argosy::cpu
