#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/scan.h"

// Gradients of running products and logarithms of sums: a thread for each row.
namespace argosy::cuda {
namespace {

__device__ __forceinline__ double wide(double v) {
  return v;
}
template <class T>
__device__ __forceinline__ auto wide(T v) {
  if constexpr (is_complex_v<T>)
    return c128{static_cast<double>(v.re), static_cast<double>(v.im)};
  else
    return static_cast<double>(load(v));
}
template <class T>
__device__ __forceinline__ T narrow(double v) {
  return store<T>(static_cast<Computed<T>>(v));
}
template <class T>
__device__ __forceinline__ T narrow(c128 v) {
  using Part = decltype(T::re);
  return {static_cast<Part>(v.re), static_cast<Part>(v.im)};
}

__device__ __forceinline__ bool is_zero(double v) {
  return v == 0;
}
__device__ __forceinline__ bool is_zero(c128 v) {
  return v.re == 0 && v.im == 0;
}
__device__ __forceinline__ double conj_of(double v) {
  return v;
}
__device__ __forceinline__ c128 conj_of(c128 v) {
  return {v.re, -v.im};
}
__device__ __forceinline__ double product(double a, double b) {
  return a * b;
}
__device__ __forceinline__ c128 product(c128 a, c128 b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ double sum_of(double a, double b) {
  return a + b;
}
__device__ __forceinline__ c128 sum_of(c128 a, c128 b) {
  return {a.re + b.re, a.im + b.im};
}
__device__ __forceinline__ double quotient(double a, double b) {
  return a / b;
}
__device__ __forceinline__ c128 quotient(c128 a, c128 b) {
  const double size = b.re * b.re + b.im * b.im;
  const c128 v = product(a, conj_of(b));
  return {v.re / size, v.im / size};
}

template <class T>
__global__ void cumprod_grad_rows(const T* x, const T* y, const T* dy, T* dx, ScanShape s) {
  using Acc = decltype(wide(T{}));
  Acc one{}, zero{};
  if constexpr (is_complex_v<Acc>)
    one.re = 1;
  else
    one = 1;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < s.outer * s.inner;
       row += int64_t{gridDim.x} * blockDim.x) {
    const int64_t base = row / s.inner * s.n * s.inner + row % s.inner;
    const auto at = [&](const T* p, int64_t i) { return wide(p[base + i * s.inner]); };
    int64_t first = 0;
    while (first < s.n && !is_zero(at(x, first))) ++first;
    // After the first zero only that zero has a gradient: the product goes around it.
    Acc around = first > 0 && first < s.n ? at(y, first - 1) : one, at_first = zero;
    for (int64_t i = first; i < s.n; ++i) {
      if (i > first) around = product(around, at(x, i));
      at_first = sum_of(at_first, product(at(dy, i), conj_of(around)));
      dx[base + i * s.inner] = narrow<T>(zero);
    }
    if (first < s.n) dx[base + first * s.inner] = narrow<T>(at_first);
    Acc sum = zero;
    for (int64_t i = first - 1; i >= 0; --i) {
      sum = sum_of(sum, product(at(dy, i), conj_of(at(y, i))));
      dx[base + i * s.inner] = narrow<T>(quotient(sum, conj_of(at(x, i))));
    }
  }
}

template <class T>
__global__ void logcumsumexp_grad_rows(const T* x, const T* y, const T* dy, T* dx, ScanShape s,
                                       bool reverse) {
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < s.outer * s.inner;
       row += int64_t{gridDim.x} * blockDim.x) {
    const int64_t base = row / s.inner * s.n * s.inner + row % s.inner;
    double sum = 0, next = 0;
    for (int64_t k = 0; k < s.n; ++k) {
      const int64_t at = base + (reverse ? k : s.n - 1 - k) * s.inner;
      const double here = wide(y[at]), own = wide(x[at]), d = wide(dy[at]);
      if (reverse) {
        sum = d * exp(own - here) + (sum != 0 ? exp(next - here) * sum : 0);
        dx[at] = narrow<T>(sum);
      } else {
        sum = d + (k > 0 && sum != 0 ? exp(here - next) * sum : 0);
        dx[at] = narrow<T>(exp(own - here) * sum);
      }
      next = here;
    }
  }
}

}  // namespace

void cumprod_grad(cudaStream_t stream, DType dtype, const void* x, const void* y, const void* dy,
                  void* dx, const ScanShape& s) {
  const int64_t rows = s.outer * s.inner;
  if (rows == 0 || s.n == 0) return;
  const auto run = [&]<class T>(Type<T>) {
    cumprod_grad_rows<<<grid(rows, 64), 64, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dy),
        static_cast<T*>(dx), s);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::complex64) return run(Type<c64>{});
  if (dtype == DType::complex128) return run(Type<c128>{});
  with_floating("cumprod_grad", dtype, run);
}

void logcumsumexp_grad(cudaStream_t stream, DType dtype, const void* x, const void* y,
                       const void* dy, void* dx, const ScanShape& s, bool reverse) {
  const int64_t rows = s.outer * s.inner;
  if (rows == 0 || s.n == 0) return;
  with_floating("logcumsumexp_grad", dtype, [&]<class T>(Type<T>) {
    logcumsumexp_grad_rows<<<grid(rows, 64), 64, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dy),
        static_cast<T*>(dx), s, reverse);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
