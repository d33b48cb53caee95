#pragma once

#include <stdint.h>

// Pooling of one plane, or of one image with its channels last. Private to pool.cc.
namespace argosy::cpu {

struct PoolWindows {
  int64_t lanes;  // channels that lie side by side: 1 in a plane
  bool adaptive, exclusive;
  int64_t divisor;  // of averages; 0: the window's size
  bool plain_sum;   // sums instead of averages
  int64_t in[3], out[3], kernel[3], stride[3], pad[3];
  // Rows of windows to compute, of out[1], y and indices being at the first. For channels side by
  // side and out[0] of 1; others compute all of a plane.
  int64_t first_row, last_row;
};

#define ARGOSY_POOL_KERNELS(T)                                             \
  void pool_max(const PoolWindows& w, const T* x, T* y, int32_t* indices); \
  void pool_average(const PoolWindows& w, const T* x, T* y);               \
  void pool_average_backward(const PoolWindows& w, const T* dy, T* dx); /* dx must be 0 before */
namespace avx2 {
ARGOSY_POOL_KERNELS(float)
ARGOSY_POOL_KERNELS(double)
}  // namespace avx2
namespace avx512 {
ARGOSY_POOL_KERNELS(float)
ARGOSY_POOL_KERNELS(double)
}  // namespace avx512
#undef ARGOSY_POOL_KERNELS

}  // namespace argosy::cpu
