#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"
#include "argosy/kernels/cuda/reduce_sum.cuh"

namespace argosy::cuda {
namespace {

// A thread for each row: products of what comes before, then times what comes after.
template <class T>
__global__ void others_rows(const T* x, T* y, int64_t rows, int64_t n) {
  using Acc = SumAcc<T>;
  const SumOp<T, true> op{};
  for (int64_t r = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < rows;
       r += int64_t{gridDim.x} * blockDim.x) {
    const T* from = x + r * n;
    T* to = y + r * n;
    Acc left = op.identity();
    for (int64_t i = 0; i < n; ++i) {
      to[i] = store<T>(left);
      left = op.add(left, from[i], i, 0);
    }
    Acc right = op.identity();
    for (int64_t i = n - 1; i >= 0; --i) {
      to[i] = store<T>(times(static_cast<Acc>(load(to[i])), right));
      right = op.add(right, from[i], i, 0);
    }
  }
}

__global__ void fill_numbers(DType dtype, void* y, int64_t n, double value) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    if (is_floating(dtype))
      put_real(y, dtype, i, value);
    else
      put_integer(y, dtype, i, static_cast<int64_t>(value));
  }
}

}  // namespace

void product_of_others(cudaStream_t stream, DType dtype, const void* x, void* y, int64_t rows,
                       int64_t n) {
  if (rows == 0 || n == 0) return;
  const auto run = [&]<class T>(Type<T>) {
    others_rows<<<grid(rows, 128), 128, 0, stream>>>(static_cast<const T*>(x), static_cast<T*>(y),
                                                     rows, n);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::complex64) return run(Type<c64>{});
  if (dtype == DType::complex128) return run(Type<c128>{});
  with_floating("product_of_others", dtype, run);
}

void fill_number(cudaStream_t stream, DType dtype, void* y, int64_t n, double value) {
  if (n == 0) return;
  fill_numbers<<<grid(n, 256), 256, 0, stream>>>(dtype, y, n, value);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
