#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Convolution of one to three spatial dims, dense tensors. Work is cut by shape alone, so results
// do not depend on the number of threads.
namespace argosy::cpu {

struct ConvShape {
  int dims = 2;                // spatial dims; the arrays below use the first `dims` entries
  bool channels_last = false;  // [N, spatial.., C] instead of [N, C, spatial..], input and output
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  // Zeros before the first element. Those after the last are what `out` implies.
  int64_t pad[3] = {0, 0, 0};
};

// How many positions a kernel visits; <= 0 if it does not fit.
constexpr int64_t conv_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                                int64_t pad_before, int64_t pad_after) {
  int64_t room = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// Weights are [out_channels, in_channels / groups, kernel..] in every layout. Floating dtypes; the
// 16-bit ones compute in float32. Every output is overwritten whole. bias and dbias,
// [out_channels], may be null.
ARGOSY_API void conv_forward(DType dtype, const ConvShape& shape, const void* x,
                             const void* weights, const void* bias, void* y);
// Also the forward of a transposed convolution, whose output is dx here and whose weights,
// [its in_channels, its out_channels / groups, kernel..], need no change.
ARGOSY_API void conv_backward_data(DType dtype, const ConvShape& shape, const void* dy,
                                   const void* weights, void* dx);
ARGOSY_API void conv_backward_weights(DType dtype, const ConvShape& shape, const void* x,
                                      const void* dy, void* dweights, void* dbias);

}  // namespace argosy::cpu
