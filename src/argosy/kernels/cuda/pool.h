#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/kernels/cuda/bounds.h"

// Pooling over one to three spatial dimensions. Floating dtypes; the 16-bit ones compute in float.
namespace argosy::cuda {

// Planes, or images with their channels last, one after the other; always of three dimensions, of
// which those that are missing come first and have size 1.
struct PoolShape {
  int64_t parts = 0;
  int64_t lanes = 1;  // channels that lie side by side: 1 in a plane
  bool adaptive =
      false;  // part o of a dimension is [floor(o * in / out), ceil((o + 1) * in / out))
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0};

  int64_t x_size() const { return parts * lanes * in[0] * in[1] * in[2]; }
  int64_t y_size() const { return parts * lanes * out[0] * out[1] * out[2]; }
};

// What the sum of a window is divided by.
struct PoolDivisor {
  bool exclusive = true;  // its elements that are not padding; else padding counts, up to in + pad
  int64_t fixed = 0;      // if not 0: this
};

// NaN wins, the last one; else the first of equals. y or indices may be null.
void max_pool(cudaStream_t stream, DType dtype, const PoolShape& s, const void* x, void* y,
              int32_t* indices);
// dy at `indices`, which are in the windows.
void max_pool_gather(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                     const int32_t* indices, void* dx);
// dy at any indices: sums of what meets in a place may be rounded in another order each time, if
// more than two meet.
void max_pool_scatter(cudaStream_t stream, DType dtype, const PoolShape& s, const void* dy,
                      const int32_t* indices, void* dx);

void avg_pool(cudaStream_t stream, DType dtype, const PoolShape& s, PoolDivisor divisor,
              const void* x, void* y);
void avg_pool_backward(cudaStream_t stream, DType dtype, const PoolShape& s, PoolDivisor divisor,
                       const void* dy, void* dx);

// (sum of x^p)^(1/p), p finite, no absolute value taken.
void lp_pool(cudaStream_t stream, DType dtype, const PoolShape& s, double p, const void* x,
             void* y);
void lp_pool_backward(cudaStream_t stream, DType dtype, const PoolShape& s, double p, const void* x,
                      const void* y, const void* dy, void* dx);

// Maxima of windows that are given: ranges of the device, (begin, end) of each output of the first
// dimension, then of the second and the third. s.in and s.out are read.
void ranges_pool(cudaStream_t stream, DType dtype, const PoolShape& s, const int64_t* ranges,
                 const void* x, void* y, int32_t* indices);

// out[plane, index] = x; out is zeros, indices are in [0, room).
void unpool(cudaStream_t stream, DType dtype, DType index_dtype, int64_t planes, int64_t inside,
            int64_t room, const void* x, const void* index, void* out, const Watch& watch);

}  // namespace argosy::cuda
