#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"
#include "argosy/kernels/cuda/bounds.h"

// Pooling of regions of interest, and the columns of deformable convolution: see kernels/cpu/roi.h.
// float32 and float64. What meets in an element of an image's gradient is added as
// exact.cuh says.
namespace argosy::cuda {

struct RoiShape {
  int64_t images, regions, channels, height, width, pooled_height, pooled_width;
  double scale;

  int64_t x_size() const { return images * channels * height * width; }
  int64_t y_size() const { return regions * channels * pooled_height * pooled_width; }
};

// The image of each region. A region of none gives zeros, and is told.
struct RoiImages {
  const int64_t* of;
  Watch watch;
};

void roi_align(cudaStream_t stream, DType dtype, const RoiShape& s, int64_t sampling_ratio,
               bool aligned, const void* x, const void* boxes, const RoiImages& image, void* y);
void roi_align_grad(cudaStream_t stream, DType dtype, const RoiShape& s, int64_t sampling_ratio,
                    bool aligned, const void* dy, const void* boxes, const RoiImages& image,
                    void* dx);
void roi_pool(cudaStream_t stream, DType dtype, const RoiShape& s, const void* x, const void* boxes,
              const RoiImages& image, void* y, int64_t* argmax);
void roi_pool_grad(cudaStream_t stream, DType dtype, const RoiShape& s, const void* dy,
                   const int64_t* argmax, const Watch& argmax_watch, const RoiImages& image,
                   void* dx);
// Results have channels / (pooled_height * pooled_width) channels.
void psroi_pool(cudaStream_t stream, DType dtype, const RoiShape& s, const void* x,
                const void* boxes, const RoiImages& image, void* y);
void psroi_pool_grad(cudaStream_t stream, DType dtype, const RoiShape& s, const void* dy,
                     const void* boxes, const RoiImages& image, void* dx);

struct DeformShape {
  int64_t images, channels, height, width, kernel_height, kernel_width, out_height, out_width;
  int64_t stride[2], padding[2], dilation[2], groups;
};

// mask may be null, and dmask then is.
void deform_columns(cudaStream_t stream, DType dtype, const DeformShape& s, const void* x,
                    const void* offset, const void* mask, void* columns);
void deform_columns_grad(cudaStream_t stream, DType dtype, const DeformShape& s,
                         const void* dcolumns, const void* x, const void* offset, const void* mask,
                         void* dx, void* doffset, void* dmask);

}  // namespace argosy::cuda
