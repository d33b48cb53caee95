#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"

// Matrix products by cuBLASLt, row major.
namespace argosy::cuda {

// C[m, n] = op(A)[m, k] op(B)[k, n] + bias for each of a stack of `batch`. op transposes where
// asked: A is stored [m, k], or [k, m] if transpose_a, with rows lda apart; likewise B and C. All
// distances in elements. A and B may use one matrix for the whole stack (stride 0). C is only
// written, and must not overlap A or B.
struct Product {
  DType dtype = DType::float32;  // floating, or complex without a bias
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  int64_t batch = 1;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  const void* bias = nullptr;  // [n] of the dtype, or null
};

// 16-bit numbers accumulate in float32 and round once; float32 stays float32 unless
// FLAGS_allow_tf32. k == 0 gives zeros, and the bias. Needs C to be contiguous there.
void gemm(cudaStream_t stream, const Product& product);

// One product for each index of `batch`, whose strides stand in the spans (0: the same matrix
// again); those of `product` are not read. C is contiguous: [*batch, m, n].
void gemm_batched(cudaStream_t stream, Product product, std::span<const int64_t> a_strides,
                  std::span<const int64_t> b_strides, std::span<const int64_t> batch);

// --- what is done to a product afterwards ---

// c[rows, n] += bias[n].
void add_bias(cudaStream_t stream, DType dtype, void* c, int64_t rows, int64_t n, const void* bias);

// out[i] = gate[i] > 0 ? product[i] * factor : 0. Any of them may be the same memory.
void open_gate(cudaStream_t stream, DType dtype, void* out, const void* product, const void* gate,
               double factor, int64_t n);

// --- addresses of a stack ---

// to[i] = base + the place of i, of those that the shape counts, by these strides; for A, B and C:
// 3 * count addresses.
struct StackPlan {
  int rank = 0;
  int64_t count = 0;
  int64_t shape[16] = {};
  int64_t strides[3][16] = {};  // in bytes
  const void* base[3] = {};
};
void stack_addresses(cudaStream_t stream, const StackPlan& plan, void** to);

}  // namespace argosy::cuda
