#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Convolutions of one to three spatial dimensions. Weights are [out, in / groups, kernel..]
// whatever the layout. Floating dtypes; what is written is written whole.
namespace argosy::cuda {

// Always of three spatial dimensions: those that are missing come first and have size 1.
struct ConvShape {
  int dims = 2;  // of the operation
  bool channels_last = false;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0};  // before the first element; `out` implies those after the last

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t in_places() const { return in[0] * in[1] * in[2]; }
  int64_t out_places() const { return out[0] * out[1] * out[2]; }
  int64_t x_size() const { return batch * in_channels * in_places(); }
  int64_t y_size() const { return batch * out_channels * out_places(); }
  // Worth trying out what is fastest.
  bool is_large() const { return x_size() + y_size() >= int64_t{1} << 20; }
  // Little work, which the direct kernels do about as fast.
  bool is_light() const { return y_size() * (in_channels / groups) * taps() <= int64_t{1} << 24; }
  int64_t w_size() const { return out_channels * (in_channels / groups) * taps(); }
};

struct ConvOptions {
  bool tf32 = false;           // float32 products may round their factors to 10 bits
  bool deterministic = false;  // the same bits each time
  bool search = false;         // time the algorithms once for each shape
  int64_t workspace = 0;       // most bytes
};

// By cuDNN where it takes the shape, else by the direct kernels. bias may be null.
void conv_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
                  const void* x, const void* w, const void* bias, void* y);
void conv_data(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
               const void* dy, const void* w, void* dx);
void conv_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
                 const void* x, const void* dy, void* dw);

// Every shape, one thread or block for each result: for depthwise convolutions and what cuDNN
// does not take.
void direct_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                    const void* w, const void* bias, void* y);
void direct_data(cudaStream_t stream, DType dtype, const ConvShape& s, const void* dy,
                 const void* w, void* dx);
void direct_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                   const void* dy, void* dw);

// Depthwise convolutions by windows of 3 x 3 and 5 x 5.
bool takes_depthwise(const ConvShape& s);
void depthwise_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                       const void* w, const void* bias, void* y);
void depthwise_data(cudaStream_t stream, DType dtype, const ConvShape& s, const void* dy,
                    const void* w, void* dx);
void depthwise_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const void* x,
                      const void* dy, void* dw);

// --- parts ---

// y += bias of its channel: y is [outer, channels, inner].
void add_channel_bias(cudaStream_t stream, DType dtype, const void* bias, int64_t outer,
                      int64_t channels, int64_t inner, void* y);

// to[.., i, ..] = from[.., i + offset, ..], zeros where from has none; both are [outer, three
// sizes, lanes].
void shift_places(cudaStream_t stream, DType dtype, const void* from, const int64_t from_sizes[3],
                  void* to, const int64_t to_sizes[3], const int64_t offset[3], int64_t outer,
                  int64_t lanes);

// [outer, channels, places] of 16-bit numbers, less than 8 channels, to [outer, places, 8] with
// zeros for those that are missing; and back, without these.
void widen_channels(cudaStream_t stream, const void* from, void* to, int64_t outer,
                    int64_t channels, int64_t places);
void narrow_channels(cudaStream_t stream, const void* from, void* to, int64_t outer,
                     int64_t channels, int64_t places);

// [batch, rows, columns] to [batch, columns, rows].
void transpose_batched(cudaStream_t stream, DType dtype, const void* from, void* to, int64_t batch,
                       int64_t rows, int64_t columns);

}  // namespace argosy::cuda
