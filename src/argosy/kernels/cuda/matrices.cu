#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/matrices.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class F>
void with_dense(const char* what, DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(Type<float>{});
    case DType::float64:
      return f(Type<double>{});
    case DType::complex64:
      return f(Type<c64>{});
    case DType::complex128:
      return f(Type<c128>{});
    default:
      fail_dtype(what, dtype);
  }
}

template <class T>
struct Field {  // of real numbers
  using Real = T;
  static __device__ __forceinline__ T number(T v) { return v; }
  static __device__ __forceinline__ T conj(T v) { return v; }
  static __device__ __forceinline__ T add(T a, T b) { return a + b; }
  static __device__ __forceinline__ T subtract(T a, T b) { return a - b; }
  static __device__ __forceinline__ T times(T a, T b) { return a * b; }
  static __device__ __forceinline__ T shuffle(T v, int lane) {
    return __shfl_xor_sync(0xffffffffu, v, lane);
  }
};
template <class T>
struct Field<Complex<T>> {
  using C = Complex<T>;
  using Real = T;
  static __device__ __forceinline__ C number(T v) { return {v, T(0)}; }
  static __device__ __forceinline__ C conj(C v) { return {v.re, -v.im}; }
  static __device__ __forceinline__ C add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
  static __device__ __forceinline__ C subtract(C a, C b) { return {a.re - b.re, a.im - b.im}; }
  static __device__ __forceinline__ C times(C a, C b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  static __device__ __forceinline__ C shuffle(C v, int lane) {
    return {__shfl_xor_sync(0xffffffffu, v.re, lane), __shfl_xor_sync(0xffffffffu, v.im, lane)};
  }
};

// Every lane of a warp gets the sum.
template <class T>
__device__ __forceinline__ T warp_sum(T v) {
  using F = Field<T>;
#pragma unroll
  for (int step = kWarp / 2; step; step /= 2) v = F::add(v, F::shuffle(v, step));
  return v;
}

template <class T>
__global__ void move_kernel(int64_t n, int64_t rows, int64_t columns, const T* from, Lying from_at,
                            T* to, Lying to_at, Part part, bool conjugated) {
  using F = Field<T>;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
    const int64_t j = at % columns, i = at / columns % rows, b = at / columns / rows;
    const bool kept = part == Part::all || (part == Part::lower ? j <= i : j >= i);
    T v = F::number(0);
    if (kept)
      v = from[b * from_at.batch_stride + i * from_at.row_stride + j * from_at.column_stride];
    to[b * to_at.batch_stride + i * to_at.row_stride + j * to_at.column_stride] =
        conjugated ? F::conj(v) : v;
  }
}

template <class T>
__global__ void identity_kernel(T* out, int64_t n, int64_t rows, int64_t columns) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step)
    out[at] = Field<T>::number(at % columns == at / columns % rows ? 1 : 0);
}

__global__ void spaced_kernel(const char* base, int64_t bytes, int64_t n, const void** to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = base + i * bytes;
}

__global__ void narrow_kernel(const int64_t* from, int32_t* to, int64_t n) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = static_cast<int32_t>(from[i]);
}

__device__ __forceinline__ double wide(float v) {
  return v;
}
__device__ __forceinline__ double wide(double v) {
  return v;
}
template <class T>
__device__ __forceinline__ c128 wide(Complex<T> v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}
template <class T>
__device__ __forceinline__ T narrow(double v) {
  return static_cast<T>(v);
}
template <class T>
__device__ __forceinline__ T narrow(c128 v) {
  using R = typename Field<T>::Real;
  return {static_cast<R>(v.re), static_cast<R>(v.im)};
}
__device__ __forceinline__ double size_of(double v) {
  return fabs(v);
}
__device__ __forceinline__ double size_of(c128 v) {
  return hypot(v.re, v.im);
}
__device__ __forceinline__ double shrunk(double v, double by) {
  return v / by;
}
__device__ __forceinline__ c128 shrunk(c128 v, double by) {
  return {v.re / by, v.im / by};
}

// A warp for each matrix.
template <class T, class R>
__global__ void determinant_kernel(int64_t batch, int64_t n, const T* factors,
                                   const int32_t* pivots, T* det, T* sign, R* log_abs) {
  using W = decltype(wide(T{}));
  using F = Field<W>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warps = int64_t{gridDim.x} * blockDim.x / kWarp;
  for (int64_t b = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; b < batch;
       b += warps) {
    const T* f = factors + b * n * n;
    const int32_t* p = pivots + b * n;
    W product = F::number(1), phase = F::number(1);
    double log_sum = 0;
    for (int64_t i = lane; i < n; i += kWarp) {
      W d = wide(f[i * n + i]);
      const double size = size_of(d);
      log_sum += log(size);
      W unit = size == 0 ? F::number(0) : shrunk(d, size);
      if (p[i] != i + 1) {
        d = F::subtract(F::number(0), d);
        unit = F::subtract(F::number(0), unit);
      }
      product = F::times(product, d);
      phase = F::times(phase, unit);
    }
#pragma unroll
    for (int step = kWarp / 2; step; step /= 2) {
      product = F::times(product, F::shuffle(product, step));
      phase = F::times(phase, F::shuffle(phase, step));
      log_sum += __shfl_xor_sync(0xffffffffu, log_sum, step);
    }
    if (lane != 0) continue;
    if (det) det[b] = narrow<T>(product);
    if (sign) sign[b] = narrow<T>(phase);
    if (log_abs) log_abs[b] = static_cast<R>(log_sum);
  }
}

// A thread for each matrix; order: [batch, rows].
__global__ void permutation_kernel(const int32_t* pivots, int64_t batch, int64_t steps,
                                   int64_t rows, int32_t* order, float* out) {
  const int64_t b = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (b >= batch) return;
  order += b * rows;
  out += b * rows * rows;
  for (int64_t i = 0; i < rows; ++i) order[i] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t with = int64_t{pivots[b * steps + i]} - 1;
    if (with < 0 || with >= rows) continue;
    const int32_t kept = order[i];
    order[i] = order[with];
    order[with] = kept;
  }
  for (int64_t i = 0; i < rows; ++i) out[int64_t{order[i]} * rows + i] = 1;
}

template <class R>
__global__ void finite_kernel(int64_t n, int64_t per, const R* values, int32_t* info) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    if (!isfinite(values[i])) atomicCAS(info + i / per, 0, 1);
}

template <class R>
__global__ void pair_kernel(int64_t count, int64_t n, const R* from, const Complex<R>* w,
                            Complex<R>* v) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += step) {
    const int64_t j = at % n, i = at / n % n, b = at / n / n;
    const R* columns = from + b * n * n;
    const R im = w[b * n + j].im;
    const int64_t first = im < 0 ? j - 1 : j;  // column of the real parts
    Complex<R> out{columns[(first < 0 ? 0 : first) * n + i], R(0)};
    if (im != 0 && first >= 0 && first + 1 < n) {
      const R other = columns[(first + 1) * n + i];
      out.im = im < 0 ? -other : other;
    }
    v[at] = out;
  }
}

// A block for each matrix, a warp for each column of q. Reflectors are applied to it from the last
// to the first; column j is only reached by those up to j.
template <class T>
__global__ void form_q_kernel(int64_t batch, int64_t m, int64_t columns, int64_t steps,
                              const T* factors, int64_t stride, const T* taus, T* q) {
  using F = Field<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp,
            warps = static_cast<int>(blockDim.x) / kWarp;
  for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
    const T *f = factors + b * stride, *tau = taus + b * steps;
    for (int64_t j = warp; j < columns; j += warps) {
      T* column = q + (b * columns + j) * m;
      for (int64_t r = lane; r < m; r += kWarp) column[r] = F::number(r == j ? 1 : 0);
      for (int64_t i = (j < steps ? j : steps - 1); i >= 0; --i) {
        const T* v = f + i * m;  // v[i] counts as 1
        // Each lane keeps its rows, so what it reads here it wrote itself.
        int64_t first = i / kWarp * kWarp + lane;
        if (first < i) first += kWarp;
        T sum = F::number(0);
        for (int64_t r = first; r < m; r += kWarp)
          sum = F::add(sum, r == i ? column[r] : F::times(F::conj(v[r]), column[r]));
        sum = F::times(tau[i], warp_sum(sum));
        for (int64_t r = first; r < m; r += kWarp)
          column[r] = F::subtract(column[r], r == i ? sum : F::times(v[r], sum));
      }
    }
  }
}

}  // namespace

void move_matrices(cudaStream_t stream, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                   const void* from, Lying from_at, void* to, Lying to_at, Part part,
                   bool conjugated) {
  const int64_t n = batch * rows * columns;
  if (n == 0) return;
  with_dense("move_matrices", dtype, [&]<class T>(Type<T>) {
    move_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(
        n, rows, columns, static_cast<const T*>(from), from_at, static_cast<T*>(to), to_at, part,
        conjugated);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void fill_identity(cudaStream_t stream, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                   void* out) {
  const int64_t n = batch * rows * columns;
  if (n == 0) return;
  with_dense("fill_identity", dtype, [&]<class T>(Type<T>) {
    identity_kernel<T>
        <<<grid(n, kThreads), kThreads, 0, stream>>>(static_cast<T*>(out), n, rows, columns);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void space_addresses(cudaStream_t stream, const void* base, int64_t bytes, int64_t count,
                     void** to) {
  if (count == 0) return;
  spaced_kernel<<<grid(count, kThreads), kThreads, 0, stream>>>(
      static_cast<const char*>(base), bytes, count, const_cast<const void**>(to));
  ARGOSY_CUDA_LAUNCHED();
}

void narrow_pivots(cudaStream_t stream, const int64_t* from, int32_t* to, int64_t n) {
  if (n == 0) return;
  narrow_kernel<<<grid(n, kThreads), kThreads, 0, stream>>>(from, to, n);
  ARGOSY_CUDA_LAUNCHED();
}

void determinants(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* factors,
                  const int32_t* pivots, void* det, void* sign, void* log_abs) {
  if (batch == 0) return;
  with_dense("det", dtype, [&]<class T>(Type<T>) {
    using R = typename Field<T>::Real;
    determinant_kernel<T, R><<<grid(batch, kThreads / kWarp), kThreads, 0, stream>>>(
        batch, n, static_cast<const T*>(factors), pivots, static_cast<T*>(det),
        static_cast<T*>(sign), static_cast<R*>(log_abs));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void permutations(cudaStream_t stream, const int32_t* pivots, int64_t batch, int64_t steps,
                  int64_t rows, float* out) {
  const auto n = static_cast<size_t>(batch * rows);
  if (n == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(out, 0, n * static_cast<size_t>(rows) * sizeof(float), stream));
  const Scratch order(stream, n * sizeof(int32_t));
  const auto blocks = static_cast<unsigned>((batch + kThreads - 1) / kThreads);
  permutation_kernel<<<blocks, kThreads, 0, stream>>>(pivots, batch, steps, rows,
                                                      order.data<int32_t>(), out);
  ARGOSY_CUDA_LAUNCHED();
}

void flag_not_finite(cudaStream_t stream, DType dtype, int64_t batch, int64_t per,
                     const void* values, int32_t* info) {
  if (is_complex(dtype)) per *= 2;
  const int64_t n = batch * per;
  if (n == 0) return;
  const int blocks = grid(n, kThreads);
  if (real_of(dtype) == DType::float32)
    finite_kernel<<<blocks, kThreads, 0, stream>>>(n, per, static_cast<const float*>(values), info);
  else
    finite_kernel<<<blocks, kThreads, 0, stream>>>(n, per, static_cast<const double*>(values),
                                                   info);
  ARGOSY_CUDA_LAUNCHED();
}

void pair_vectors(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* from,
                  const void* w, void* v) {
  const int64_t count = batch * n * n;
  if (count == 0) return;
  const auto launch = [&]<class R>(R) {
    pair_kernel<R><<<grid(count, kThreads), kThreads, 0, stream>>>(
        count, n, static_cast<const R*>(from), static_cast<const Complex<R>*>(w),
        static_cast<Complex<R>*>(v));
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::float32)
    launch(float());
  else
    launch(double());
}

void form_q(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t columns,
            int64_t steps, const void* factors, int64_t stride, const void* tau, void* q) {
  if (batch * m * columns == 0) return;
  with_dense("qr", dtype, [&]<class T>(Type<T>) {
    form_q_kernel<T><<<grid(batch, 1), kThreads, 0, stream>>>(
        batch, m, columns, steps, static_cast<const T*>(factors), stride,
        static_cast<const T*>(tau), static_cast<T*>(q));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
