#pragma once

#include <stdint.h>

// The arithmetic of one pair. Private to skip_gram.cc.
namespace argosy::cpu {

#define ARGOSY_SKIP_GRAM_KERNELS                                                              \
  /* logits[k] = input . targets[k], for 8 targets. */                                        \
  void skip_gram_logits(int64_t dim, const float* input, float* const* targets, int n,        \
                        float* logits);                                                       \
  /* step[k] = rate * (label[k] - sigmoid(logits[k])); returns the loss. Label 1 is the       \
     first, the others have 0. */                                                             \
  float skip_gram_steps(const float* logits, int n, float rate, float* steps);                \
  /* input += sum of steps[k] * targets[k]; targets[k] += steps[k] * input, both with         \
     the input of before. */                                                                  \
  void skip_gram_update(int64_t dim, float* input, float* const* targets, const float* steps, \
                        int n);
namespace avx2 {
ARGOSY_SKIP_GRAM_KERNELS
}  // namespace avx2
namespace avx512 {
ARGOSY_SKIP_GRAM_KERNELS
}  // namespace avx512
#undef ARGOSY_SKIP_GRAM_KERNELS

}  // namespace argosy::cpu
