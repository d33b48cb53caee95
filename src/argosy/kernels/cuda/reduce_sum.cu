#include "argosy/kernels/cuda/reduce_sum.cuh"

namespace argosy::cuda {

void reduce_product(cudaStream_t stream, const View& x, uint32_t axes, void* y, DType y_dtype);

void reduce_sum(cudaStream_t stream, SumKind kind, const View& x, uint32_t axes, void* y,
                DType y_dtype) {
  if (kind == SumKind::prod) return reduce_product(stream, x, axes, y, y_dtype);
  double divisor = 1;
  if (kind == SumKind::mean)
    for (int d = 0; d < x.rank; ++d)
      if (axes >> d & 1) divisor *= static_cast<double>(x.shape[d]);
  reduce_sum_of<false>(stream, x, axes, y, y_dtype, divisor);
}

}  // namespace argosy::cuda
