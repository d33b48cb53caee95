#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Images [N, C, H, W] or volumes [N, C, D, H, W] between their elements. Floating dtypes, one for
// all operands.
namespace argosy::cuda {

struct SampleShape {
  int dims = 2;  // 2 or 3
  int64_t batch = 0, channels = 0, points = 0;
  int64_t size[3] = {1, 1, 1};  // of the first `dims`
  bool nearest = false, border = false, reflect = false, align_corners = true;
  bool pixels = false;       // points are places of elements, not parts of [-1, 1]
  uint32_t coordinates = 0;  // those by which is differentiated, once each, as bits

  int64_t plane() const { return size[0] * size[1] * (dims == 3 ? size[2] : 1); }
  int64_t x_size() const { return batch * channels * plane(); }
  int64_t y_size() const { return batch * channels * points; }
};

// y [N, C, points] of x at grid [N, points, dims].
void sample(cudaStream_t stream, DType dtype, const SampleShape& s, const void* x,
            const void* grid_at, void* y);
// The gradient of x. What meets in an element is added as exact.cuh says.
void sample_spread(cudaStream_t stream, DType dtype, const SampleShape& s, const void* grid_at,
                   const void* dy, void* dx);
// The gradient of the grid, without `coordinates`.
void sample_grid_gradient(cudaStream_t stream, DType dtype, const SampleShape& s, const void* x,
                          const void* grid_at, const void* dy, void* dgrid);

// The points of a regular grid over [-1, 1] as (x, y, 1) or (x, y, z, 1). float32 and float64.
void affine_base(cudaStream_t stream, DType dtype, int dims, const int64_t* sizes,
                 bool align_corners, void* out);

}  // namespace argosy::cuda
