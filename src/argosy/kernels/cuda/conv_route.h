#pragma once

#include <functional>
#include <span>

#include "argosy/kernels/cuda/conv_dnn.h"

// Ways to compute a convolution of 16-bit numbers with channels first, of which shapes do not tell
// which is fastest.
namespace argosy::cuda {

enum class ConvRoute : uint8_t {
  given,    // cuDNN, as the operands lie
  turned,   // cuDNN with channels last, to which operands are turned and results back
  widened,  // the same with eight channels of x, where it has less: what tensor cores read
  product,  // a matrix product for each image
};

// The fastest of these for large operands: timed once for each shape by run(route), which enqueues
// all of it, may be called again, and is false where the route does not work. The host waits then.
// The first one for the others, while a graph is being captured, and where the same bits are wanted
// each time.
ConvRoute fastest_route(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
                        const ConvOptions& options, std::span<const ConvRoute> routes,
                        const std::function<bool(ConvRoute)>& run);

}  // namespace argosy::cuda
