#include "argosy/kernels/cuda/reduce_sum.cuh"

namespace argosy::cuda {

void reduce_product(cudaStream_t stream, const View& x, uint32_t axes, void* y, DType y_dtype) {
  reduce_sum_of<true>(stream, x, axes, y, y_dtype, 1);
}

}  // namespace argosy::cuda
