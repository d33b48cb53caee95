#pragma once

#include "argosy/kernels/cuda/conv_dnn.h"

// Convolutions of 16-bit images whose channels lie last, by cuDNN: nothing is transposed but
// weights, which are given and written as [out, in, kernel..].
namespace argosy::cuda {

bool takes_last(DType dtype, const ConvShape& s);

// x and y are [batch, places.., channels]; what `kind` makes is written: y, x or w. False, with
// nothing to be kept of what was written, where cuDNN has no algorithm. bias, null but for some
// forward calls, is added before y is rounded. REQUIRES: takes_last.
bool conv_last(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
               const ConvOptions& options, const void* x, const void* w, const void* y,
               const void* bias = nullptr);

}  // namespace argosy::cuda
