#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/fake_quantize.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

// Products that are added to nothing: rounded each, as on the CPU.
__device__ __forceinline__ float product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double product(double a, double b) {
  return __dmul_rn(a, b);
}

// As std::min and std::max of (v, limit): NaN stays.
template <class W>
__device__ __forceinline__ W at_most(W v, W limit) {
  return limit < v ? limit : v;
}
template <class W>
__device__ __forceinline__ W at_least(W v, W limit) {
  return v < limit ? limit : v;
}

template <class T, class W>
__global__ void fake_quantize_kernel(int64_t n, int64_t channels, int64_t inner, W steps,
                                     bool to_even, const T* x, const W* scales, T* y) {
  const W half = to_even ? W(0) : W(0.5) - (sizeof(W) == 4 ? W(0x1p-25) : W(0x1p-54));
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const W scale = scales[channels == 1 ? 0 : i / inner % channels];
    const W safe = scale <= W(1e-30) ? scale + W(1e-6) : scale;
    const W up = product(steps, W(1) / safe), v = static_cast<W>(load(x[i]));
    W code;
    if (to_even) {
      code = at_most(at_least(rint(product(v, up)), -steps - 1), steps);
    } else {
      const W scaled = product(up, at_most(at_least(v, -scale), scale));
      code = trunc(scaled + copysign(half, scaled));
    }
    y[i] = store<T>(static_cast<Computed<T>>(product(code, scale) / steps));
  }
}

template <class S, class W>
__global__ void scales_kernel(int64_t n, const S* from, W* to) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<W>(load(from[i]));
}

}  // namespace

void fake_quantize(cudaStream_t stream, const FakeQuantize& c, DType dtype, const void* x,
                   DType scale_dtype, const void* scales, void* y) {
  if (c.n == 0) return;
  with_floating("fake_quantize_dequantize", dtype, [&]<class T>(Type<T>) {
    using W = Computed<T>;
    const Scratch wide(stream, static_cast<size_t>(c.channels) * sizeof(W));
    with_floating("fake_quantize_dequantize", scale_dtype, [&]<class S>(Type<S>) {
      const auto blocks = static_cast<unsigned>((c.channels + kThreads - 1) / kThreads);
      scales_kernel<S, W><<<blocks, kThreads, 0, stream>>>(
          c.channels, static_cast<const S*>(scales), wide.data<W>());
      ARGOSY_CUDA_LAUNCHED();
    });
    fake_quantize_kernel<T, W><<<grid(c.n, kThreads), kThreads, 0, stream>>>(
        c.n, c.channels, c.inner, static_cast<W>(c.steps), c.to_even, static_cast<const T*>(x),
        wide.data<W>(), static_cast<T*>(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
