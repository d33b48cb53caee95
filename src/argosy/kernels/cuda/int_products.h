#pragma once

#include "argosy/kernels/cuda/blas.h"

namespace argosy::cuda {

// gemm_batched for integers, whose sums wrap around.
void integer_products(cudaStream_t stream, const Product& product,
                      std::span<const int64_t> a_strides, std::span<const int64_t> b_strides,
                      std::span<const int64_t> batch);

}  // namespace argosy::cuda
