#include "argosy/kernels/cuda/blas.h"
#include "argosy/kernels/cuda/common.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// A block takes rows, its threads columns: no division for each element.
template <class T>
__global__ void bias_kernel(T* c, int64_t rows, int64_t n, const T* bias) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x)
      c[row * n + j] = store<T>(load(c[row * n + j]) + load(bias[j]));
}

template <class T>
__global__ void gate_kernel(T* out, const T* product, const T* gate, Computed<T> factor,
                            int64_t n) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const Computed<T> open = load(gate[i]), v = load(product[i]);
    out[i] = open > Computed<T>(0) ? store<T>(v * factor) : store<T>(Computed<T>(0));
  }
}

// The same by packs: all three at 16 bytes.
template <class T>
__global__ void gate_packs_kernel(T* out, const T* product, const T* gate, Computed<T> factor,
                                  int64_t packs) {
  using P = Pack<T, kPack<T>>;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs; i += step) {
    const P g = reinterpret_cast<const P*>(gate)[i], p = reinterpret_cast<const P*>(product)[i];
    P r;
#pragma unroll
    for (int j = 0; j < kPack<T>; ++j)
      r.at[j] = load(g.at[j]) > Computed<T>(0) ? store<T>(load(p.at[j]) * factor)
                                               : store<T>(Computed<T>(0));
    reinterpret_cast<P*>(out)[i] = r;
  }
}

__global__ void addresses_kernel(StackPlan plan, char** to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < plan.count; i += step) {
    int64_t rest = i, at[3] = {};
    for (int d = plan.rank - 1; d >= 0; --d) {
      const int64_t place = rest % plan.shape[d];
      rest /= plan.shape[d];
      for (int o = 0; o < 3; ++o) at[o] += place * plan.strides[o][d];
    }
    for (int o = 0; o < 3; ++o)
      to[o * plan.count + i] = static_cast<char*>(const_cast<void*>(plan.base[o])) + at[o];
  }
}

}  // namespace

void add_bias(cudaStream_t stream, DType dtype, void* c, int64_t rows, int64_t n,
              const void* bias) {
  if (rows == 0 || n == 0) return;
  with_floating("linear", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    bias_kernel<T><<<grid(rows, 1), kThreads, 0, stream>>>(static_cast<T*>(c), rows, n,
                                                           static_cast<const T*>(bias));
  });
  ARGOSY_CUDA_LAUNCHED();
}

void open_gate(cudaStream_t stream, DType dtype, void* out, const void* product, const void* gate,
               double factor, int64_t n) {
  if (n == 0) return;
  with_floating("gated_matmul", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto number = static_cast<Computed<T>>(factor);
    const bool packs = n % kPack<T> == 0 && aligned(out) && aligned(product) && aligned(gate);
    auto* to = static_cast<T*>(out);
    const auto *p = static_cast<const T*>(product), *g = static_cast<const T*>(gate);
    if (packs)
      gate_packs_kernel<T>
          <<<grid(n / kPack<T>, kThreads), kThreads, 0, stream>>>(to, p, g, number, n / kPack<T>);
    else
      gate_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(to, p, g, number, n);
  });
  ARGOSY_CUDA_LAUNCHED();
}

void stack_addresses(cudaStream_t stream, const StackPlan& plan, void** to) {
  if (plan.count == 0) return;
  addresses_kernel<<<grid(plan.count, kThreads), kThreads, 0, stream>>>(
      plan, reinterpret_cast<char**>(to));
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
