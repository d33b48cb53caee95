#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Discrete Fourier transforms by cuFFT, which is loaded when it is first asked for.
namespace argosy::cuda {

// Null if cuFFT is there, else why not.
const char* fft_problem();

// y = the transforms of complex x over `rank` neighbouring dimensions, for each of `batch`: element
// [i0, i1, ..] of number b is at b * distance + ((i0 * n[1] + i1) * n[2] + ..) * stride. Not
// divided by anything. y may be x.
struct Transform {
  DType dtype = DType::complex64;
  int rank = 1;  // at most kMostTransformed
  int64_t n[3] = {1, 1, 1};
  int64_t batch = 1;
  int64_t stride = 1, distance = 0;
  bool forward = true;
};
inline constexpr int kMostTransformed = 3;
void fft(cudaStream_t stream, const Transform& transform, const void* x, void* y);

// x *= factor, n complex numbers.
void scale_complex(cudaStream_t stream, DType dtype, void* x, int64_t n, double factor);

}  // namespace argosy::cuda
