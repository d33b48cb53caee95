#pragma once

#include <span>

#include "argosy/kernels/cuda/runtime.h"

// Norms of many tensors together, and their scaling by what comes out. The host reads nothing.
namespace argosy::cuda::clip {

// n floating elements; to: where the scaled ones go, may be `from`.
struct Piece {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t n = 0;
  DType dtype = DType::float32;
};
using Pieces = std::span<const Piece>;

// *norm (float64) = the norm of order p of all elements together; p = 0 counts those that are not
// 0, infinity takes the largest. A NaN gives NaN.
void norm(cudaStream_t stream, Pieces pieces, double p, double* norm);

// Factors from *norm: 1 up to `most`, most / norm above.
void factor_by_norm(cudaStream_t stream, const double* norm, double most, double* factor);
// most / (norm + 1e-6), 1 if that is above; the norm goes to `total`, floating, too.
void factor_of_grads(cudaStream_t stream, const double* norm, double most, double* factor,
                     void* total, DType dtype);

// to = *factor * from; pieces in place are left alone where it is 1.
void scale(cudaStream_t stream, Pieces pieces, const double* factor);

// y = x within [least, most]; NaN stays.
void by_value(cudaStream_t stream, const void* x, void* y, DType dtype, int64_t n, double least,
              double most);

// to = from / scale (16-bit floats: computed in float32); *found becomes 1 if a result is not
// finite, else 0.
void unscale(cudaStream_t stream, Pieces pieces, double scale, bool* found);

}  // namespace argosy::cuda::clip
