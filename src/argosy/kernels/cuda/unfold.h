#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Windows of images as columns, and columns added up into images.
namespace argosy::cuda {

struct UnfoldShape {
  int64_t planes = 0, height = 0, width = 0;
  int64_t rows = 0, columns = 0;  // of windows
  int64_t kernel[2], stride[2], pad[2], dilation[2];

  int64_t image_size() const { return planes * height * width; }
  int64_t lines_size() const { return planes * kernel[0] * kernel[1] * rows * columns; }
};

// Lines are [planes, kernel height, kernel width, rows, columns]. Any dtype.
void unfold(cudaStream_t stream, DType dtype, const UnfoldShape& s, const void* image, void* lines);
// Floating dtypes, int32 and int64.
void fold(cudaStream_t stream, DType dtype, const UnfoldShape& s, const void* lines, void* image);

}  // namespace argosy::cuda
