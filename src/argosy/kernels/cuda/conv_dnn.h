#pragma once

#include <string>

#include "argosy/kernels/cuda/conv.h"

// Convolutions by cuDNN, and which of its algorithms.
namespace argosy::cuda {

enum class ConvKind { forward, data, weight };

// Of padding that is the same on both sides. Weights lie as x does: [out, in / groups, kernel..],
// or [out, kernel.., in / groups] for channels last. Writes y, dx (x) or dw (w). False, with
// nothing to be kept of what was written, where cuDNN has no algorithm for it.
bool dnn_conv(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
              const ConvOptions& options, void* x, void* w, void* y, const void* bias = nullptr);

// Everything that which algorithm is best depends on, the device included.
std::string conv_key(ConvKind kind, DType dtype, const ConvShape& s, const ConvOptions& options,
                     bool biased);

}  // namespace argosy::cuda
