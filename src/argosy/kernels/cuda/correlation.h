#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Cost volumes (ops/vision/correlation.cc), float32 and float64.
namespace argosy::cuda {

struct Correlation {
  DType dtype = DType::float32;
  int64_t images = 0, channels = 0, height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;  // windows
  int64_t reach = 0, kernel = 1, stride1 = 1, stride2 = 1;
  int64_t start = 0;  // of window 0, before the image where it is negative
  double factor = 1;
};
// out [images, (2 reach + 1)^2, out_height, out_width] of x and y [images, channels, height,
// width].
void correlation(cudaStream_t stream, const Correlation& call, const void* x, const void* y,
                 void* out);
// Sums have one order.
void correlation_grad(cudaStream_t stream, const Correlation& call, const void* x, const void* y,
                      const void* dout, void* dx, void* dy);

}  // namespace argosy::cuda
