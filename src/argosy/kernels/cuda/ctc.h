#pragma once

#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// CTC of scores x [times, batch, classes], labels [batch, longest], and lengths of each sequence
// and of its labels [batch], all int64. The host does not see these: where one is out of range the
// loss is NaN and the gradient zeros. loss [batch] is of dtype; gradient of x's shape, that of the
// loss by the scores, is float32 (float64 for float64 x). norm_by_times: the gradient is divided by
// the sequence's length; zero_infinity: impossible sequences have loss 0.
struct Ctc {
  DType dtype;
  int64_t times, batch, classes, longest, blank;
  bool norm_by_times, zero_infinity;
};
void ctc(cudaStream_t stream, const Ctc& a, const void* x, const int64_t* labels,
         const int64_t* times, const int64_t* lengths, void* loss, void* gradient);

}  // namespace argosy::cuda
