#pragma once

#include <cmath>

#include "argosy/base/flags.h"
#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/exact.h"

// Sums of what many threads add at one place: by atomic additions in any order, or, with
// FLAGS_cudnn_deterministic, with the same bits in each run (exact.h).
namespace argosy::cuda {

inline bool sums_are_exact() {
  static const flags::Flag& flag = flags::find("FLAGS_cudnn_deterministic");
  return flag.boolean();
}

// What is added: at most max|values| * max|factors| * most, `count` times at one place.
template <class T>
struct Addends {
  const T* values;
  int64_t n;
  int64_t count;
  double most = 1;
  const T* factors = nullptr;
  int64_t factor_count = 0;
};

// In memory of the device.
struct ExactScale {
  unsigned long long largest[2];  // of values and factors that are finite, as bits of a double
  double factor;                  // 2^(bits - exponent)
  int exponent;
};

// The places of sums, C being what is computed in.
template <class C>
struct Sums {
  C* target;
  unsigned long long *whole, *rest;  // null where the order is free
  const ExactScale* scale;
  double step;  // 2^bits

  __device__ __forceinline__ void add(int64_t at, C v) const {
    // What is not finite is that in any order.
    if (!whole || !isfinite(v)) {
      atomicAdd(target + at, v);
      return;
    }
    const ExactParts parts = exact_parts(static_cast<double>(v), scale->factor, step);
    atomicAdd(whole + at, static_cast<unsigned long long>(parts.whole));
    if (parts.rest) atomicAdd(rest + at, static_cast<unsigned long long>(parts.rest));
  }
};

namespace exact {

inline constexpr int kThreads = 256;

template <class T>
static __global__ void __launch_bounds__(kThreads)
    largest_kernel(const T* __restrict__ x, int64_t n, unsigned long long* largest) {
  __shared__ double shared[kWarp];
  double most = 0;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * kThreads) {
    const double v = fabs(static_cast<double>(load(x[i])));
    if (isfinite(v) && v > most) most = v;
  }
  most = block_reduce(most, 0.0, Max(), shared);
  if (threadIdx.x == 0) atomicMax(largest, __double_as_longlong(most));
}

static __global__ void scale_kernel(ExactScale* scale, bool has_factors, double most, int bits) {
  double bound = __longlong_as_double(static_cast<long long>(scale->largest[0])) * most;
  if (has_factors) bound *= __longlong_as_double(static_cast<long long>(scale->largest[1]));
  scale->exponent = exact_exponent(bound);
  scale->factor = ldexp(1.0, bits - scale->exponent);
}

template <class C>
static __global__ void __launch_bounds__(kThreads) finish_kernel(Sums<C> sums, int64_t total) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads)
    sums.target[i] += static_cast<C>(exact_value(static_cast<long long>(sums.whole[i]),
                                                 static_cast<long long>(sums.rest[i]), sums.step,
                                                 sums.scale->exponent));
}

template <class T>
void find_largest(cudaStream_t stream, const T* x, int64_t n, unsigned long long* largest) {
  if (n == 0) return;
  largest_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(x, n, largest);
  ARGOSY_CUDA_LAUNCHED();
}

template <class T>
static __global__ void __launch_bounds__(kThreads)
    round_kernel(int64_t total, const float* __restrict__ from, T* __restrict__ to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads)
    to[i] = store<T>(from[i]);
}

}  // namespace exact

// Calls add(sums), which launches a kernel that adds to zeros, `total` numbers at `target`.
template <class T, class F>
void add_sums(cudaStream_t stream, int64_t total, Computed<T>* target, const Addends<T>& addends,
              F&& add) {
  using C = Computed<T>;
  ARGOSY_CUDA(cudaMemsetAsync(target, 0, static_cast<size_t>(total) * sizeof(C), stream));
  if (!sums_are_exact()) return add(Sums<C>{target, nullptr, nullptr, nullptr, 0});
  const size_t bytes = static_cast<size_t>(total) * sizeof(unsigned long long);
  const Scratch parts(stream, 2 * bytes), memory(stream, sizeof(ExactScale));
  ARGOSY_CUDA(cudaMemsetAsync(parts.data(), 0, 2 * bytes, stream));
  ARGOSY_CUDA(cudaMemsetAsync(memory.data(), 0, sizeof(ExactScale), stream));
  auto* scale = memory.data<ExactScale>();
  auto* whole = parts.data<unsigned long long>();
  const int bits = exact_bits(addends.count);
  exact::find_largest(stream, addends.values, addends.n, scale->largest);
  if (addends.factors)
    exact::find_largest(stream, addends.factors, addends.factor_count, scale->largest + 1);
  exact::scale_kernel<<<1, 1, 0, stream>>>(scale, addends.factors != nullptr, addends.most, bits);
  ARGOSY_CUDA_LAUNCHED();
  const Sums<C> sums{target, whole, whole + total, scale, std::ldexp(1.0, bits)};
  add(sums);
  exact::finish_kernel<C>
      <<<grid(total, exact::kThreads), exact::kThreads, 0, stream>>>(sums, total);
  ARGOSY_CUDA_LAUNCHED();
}

// The same, rounded into `out`, of T.
template <class T, class F>
void with_sums(cudaStream_t stream, int64_t total, void* out, const Addends<T>& addends, F&& add) {
  using C = Computed<T>;
  if constexpr (std::is_same_v<T, C>) {
    add_sums<T>(stream, total, static_cast<C*>(out), addends, add);
  } else {
    const Scratch sums(stream, static_cast<size_t>(total) * sizeof(C));
    add_sums<T>(stream, total, sums.template data<C>(), addends, add);
    exact::round_kernel<T><<<grid(total, exact::kThreads), exact::kThreads, 0, stream>>>(
        total, sums.template data<C>(), static_cast<T*>(out));
    ARGOSY_CUDA_LAUNCHED();
  }
}

}  // namespace argosy::cuda
