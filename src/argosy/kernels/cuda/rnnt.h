#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// RNN-T of log probabilities x [batch, times, longest + 1, classes], labels [batch, longest], and
// lengths of each sequence and of its labels [batch], all int64. The host does not see these: where
// one is out of range the loss is NaN and the gradient zeros. loss [batch] is of dtype; gradient of
// x's shape, that of the loss by x, is float32 (float64 for float64 x), with (1 + emit_more) times
// what emissions give.
struct Rnnt {
  DType dtype;
  int64_t batch, times, longest, classes, blank;
  double emit_more;
};
void rnnt(cudaStream_t stream, const Rnnt& a, const void* x, const int64_t* labels,
          const int64_t* times, const int64_t* lengths, void* loss, void* gradient);

}  // namespace argosy::cuda
