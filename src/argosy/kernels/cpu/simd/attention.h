#pragma once

#include <stdint.h>

// Rows of scores, and choices by bits. Private to attention.cc and bits.cc.
namespace argosy::cpu {

// As keep_by_bits(), for one floating dtype.
using KeepKernel = void (*)(const void* x, const uint8_t* bits, int64_t first, int64_t n,
                            int64_t total, double factor, void* y);

#define ARGOSY_ATTENTION_KERNELS(T)                                                              \
  /* Part of a row of scores becomes exp(score - the row's maximum so far). high and sum are of  \
     the parts before (-inf and 0 at first) and are brought up to date; returns what those parts \
     are to be multiplied by. */                                                                 \
  T exp_scores(int64_t n, T* scores, T* high, T* sum);                                           \
  /* scores become weights exp(score - log_sum), d their gradient that of the scores, times      \
     scale. */                                                                                   \
  void scores_backward(int64_t n, T* scores, T* d, T log_sum, T delta, T scale);                 \
  T dot_rows(int64_t n, const T* x, const T* y);
namespace avx2 {
ARGOSY_ATTENTION_KERNELS(float)
ARGOSY_ATTENTION_KERNELS(double)
extern const KeepKernel keep_kernels[4];
}  // namespace avx2
namespace avx512 {
ARGOSY_ATTENTION_KERNELS(float)
ARGOSY_ATTENTION_KERNELS(double)
extern const KeepKernel keep_kernels[4];
}  // namespace avx512
#undef ARGOSY_ATTENTION_KERNELS

}  // namespace argosy::cpu
