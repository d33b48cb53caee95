#pragma once

#include "argosy/kernels/cuda/common.cuh"

// Arithmetic that the compiler does not fuse.
namespace argosy::cuda {

// Products that are rounded by themselves, for positions that must be those of the CPU.
__device__ __forceinline__ float times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double times(double a, double b) {
  return __dmul_rn(a, b);
}

}  // namespace argosy::cuda
