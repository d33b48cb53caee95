#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Resizing of one to three spatial dimensions.
namespace argosy::cuda {

enum class InterpMode : uint8_t { nearest, linear, cubic };  // linear: bi- and trilinear too

// Always of three dimensions, of which those that are missing come first and have size 1.
struct InterpShape {
  int64_t parts = 0;
  int64_t lanes = 1;  // channels that lie side by side: 1 in a plane
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  // Where output k comes from: see kernels/cpu/interp.h.
  bool align_corners = false, half_pixel = true, antialias = false;
  double scale[3] = {0, 0, 0};

  int64_t x_size() const { return parts * lanes * in[0] * in[1] * in[2]; }
  int64_t y_size() const { return parts * lanes * out[0] * out[1] * out[2]; }
};

// Floating dtypes (16-bit ones compute in float); nearest forward: any dtype.
void interp(cudaStream_t stream, DType dtype, InterpMode mode, const InterpShape& s, const void* x,
            void* y);
void interp_backward(cudaStream_t stream, DType dtype, InterpMode mode, const InterpShape& s,
                     const void* dy, void* dx);

}  // namespace argosy::cuda
