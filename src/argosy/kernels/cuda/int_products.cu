#include <algorithm>

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/int_products.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

struct Matrix {
  int64_t row_step, column_step;
};

// A thread for each element of c [count, m, n].
template <class T>
__global__ void product_kernel(int64_t count, int64_t m, int64_t n, int64_t k, const T* const* a,
                               Matrix of_a, const T* const* b, Matrix of_b, T* c) {
  const int64_t total = count * m * n, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < total; at += step) {
    const int64_t j = at % n, i = at / n % m, s = at / n / m;
    const T *row = a[s] + i * of_a.row_step, *column = b[s] + j * of_b.column_step;
    uint64_t sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<uint64_t>(row[l * of_a.column_step]) *
             static_cast<uint64_t>(column[l * of_b.row_step]);
    c[at] = static_cast<T>(sum);
  }
}

}  // namespace

void integer_products(cudaStream_t stream, const Product& p, std::span<const int64_t> a_strides,
                      std::span<const int64_t> b_strides, std::span<const int64_t> batch) {
  StackPlan plan;
  plan.rank = static_cast<int>(batch.size());
  plan.count = 1;
  plan.base[0] = p.a;
  plan.base[1] = p.b;
  plan.base[2] = p.c;
  const auto item = static_cast<int64_t>(item_size(p.dtype));
  for (size_t i = 0; i < batch.size(); ++i) {
    plan.count *= batch[i];
    plan.shape[i] = batch[i];
    plan.strides[0][i] = a_strides[i] * item;
    plan.strides[1][i] = b_strides[i] * item;
  }
  const int64_t total = plan.count * p.m * p.n;
  if (total == 0) return;
  const Scratch memory(stream, static_cast<size_t>(3 * plan.count) * sizeof(void*));
  stack_addresses(stream, plan, memory.data<void*>());
  const Matrix a = p.transpose_a ? Matrix{1, p.lda} : Matrix{p.lda, 1};
  const Matrix b = p.transpose_b ? Matrix{1, p.ldb} : Matrix{p.ldb, 1};
  with_integral("matmul", p.dtype, [&]<class T>(Type<T>) {
    const T* const* addresses = memory.data<const T*>();
    product_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(
        plan.count, p.m, p.n, p.k, addresses, a, addresses + plan.count, b, static_cast<T*>(p.c));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
