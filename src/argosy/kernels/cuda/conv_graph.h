#pragma once

#include "argosy/kernels/cuda/conv_dnn.h"

// Convolutions of 16-bit images whose channels lie last, as graphs of cuDNN. Only these reach the
// kernels that its older calls do not know, which on Hopper are several times as fast.
namespace argosy::cuda {

// x and y are [batch, places.., channels], w is [out, kernel.., in]; what `kind` makes is written:
// y, x or w. False where cuDNN has no kernel; nothing was written then. REQUIRES: takes_last
// (conv_last.h).
bool graph_conv(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
                const ConvOptions& options, const void* x, const void* w, const void* y);

}  // namespace argosy::cuda
