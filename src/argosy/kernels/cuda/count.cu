#include "argosy/kernels/cuda/count.h"

#include "argosy/kernels/cuda/reduce.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSharedBins = 4096;

__device__ __forceinline__ double number_at(const void* x, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8:
      return static_cast<const uint8_t*>(x)[i];
    case DType::int8:
      return static_cast<const int8_t*>(x)[i];
    case DType::uint16:
      return static_cast<const uint16_t*>(x)[i];
    case DType::int16:
      return static_cast<const int16_t*>(x)[i];
    case DType::uint32:
      return static_cast<const uint32_t*>(x)[i];
    case DType::int32:
      return static_cast<const int32_t*>(x)[i];
    case DType::uint64:
      return static_cast<double>(static_cast<const uint64_t*>(x)[i]);
    case DType::int64:
      return static_cast<double>(static_cast<const int64_t*>(x)[i]);
    case DType::float16:
      return load(static_cast<const half_t*>(x)[i]);
    case DType::bfloat16:
      return load(static_cast<const bf16_t*>(x)[i]);
    case DType::float32:
      return static_cast<const float*>(x)[i];
    default:
      return static_cast<const double*>(x)[i];
  }
}

__device__ __forceinline__ int64_t integer_at(const void* x, DType dtype, int64_t i) {
  if (dtype == DType::int64 || dtype == DType::uint64) return static_cast<const int64_t*>(x)[i];
  return static_cast<int64_t>(number_at(x, dtype, i));
}

// Bounds of blocks [2 * block]; then, by one block, of those.
__global__ void __launch_bounds__(kThreads)
    bounds_of(DType dtype, const void* x, int64_t n, const double* parts, double* bounds) {
  __shared__ double shared[kWarp];
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  double low = infinity, high = -infinity;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    low = Min{}(low, parts ? parts[2 * i] : number_at(x, dtype, i));
    high = Max{}(high, parts ? parts[2 * i + 1] : number_at(x, dtype, i));
  }
  low = block_reduce(low, infinity, Min{}, shared);
  high = block_reduce(high, -infinity, Max{}, shared);
  if (threadIdx.x == 0) {
    bounds[2 * blockIdx.x] = low;
    bounds[2 * blockIdx.x + 1] = high;
  }
}

// in_shared: the bins fit into the block's memory.
__global__ void __launch_bounds__(kThreads)
    count_bins(DType dtype, const void* x, DType weight_dtype, const void* weights, int64_t n,
               double low, double high, int64_t bins, bool in_shared, double* counts) {
  extern __shared__ double own[];
  double* to = in_shared ? own : counts;
  if (in_shared) {
    for (int64_t b = threadIdx.x; b < bins; b += blockDim.x) own[b] = 0;
    __syncthreads();
  }
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    const double v = number_at(x, dtype, i);
    if (!(v >= low && v <= high)) continue;
    const int64_t bin = static_cast<int64_t>((v - low) * static_cast<double>(bins) / (high - low));
    atomicAdd(&to[bin < bins ? bin : bins - 1],
              weights ? number_at(weights, weight_dtype, i) : 1.0);
  }
  if (!in_shared) return;
  __syncthreads();
  for (int64_t b = threadIdx.x; b < bins; b += blockDim.x)
    if (own[b] != 0) atomicAdd(&counts[b], own[b]);
}

__device__ __forceinline__ void put_number(void* y, DType dtype, int64_t at, double v) {
  if (is_floating(dtype))
    put_real(y, dtype, at, v);
  else
    put_integer(y, dtype, at, static_cast<int64_t>(v));
}

// One block.
__global__ void __launch_bounds__(kThreads)
    finish_bins(const double* counts, int64_t bins, bool density, double width, void* y,
                DType dtype) {
  __shared__ double shared[kWarp];
  double total = 0;
  if (density) {
    for (int64_t b = threadIdx.x; b < bins; b += blockDim.x) total += counts[b];
    total = block_reduce(total, 0.0, Sum{}, shared);
  }
  for (int64_t b = threadIdx.x; b < bins; b += blockDim.x)
    put_number(y, dtype, b, density ? counts[b] / (total * width) : counts[b]);
}

__global__ void edges_of(double low, double high, int64_t bins, float* edges) {
  const double step = (high - low) / static_cast<double>(bins);
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i <= bins;
       i += int64_t{gridDim.x} * blockDim.x)
    edges[i] = static_cast<float>(i == bins ? high : low + static_cast<double>(i) * step);
}

__global__ void count_integers(DType dtype, const void* x, int64_t n, unsigned long long* counts) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    atomicAdd(&counts[integer_at(x, dtype, i)], 1ull);
}

__global__ void add_weights(DType dtype, const void* x, DType weight_dtype, const void* weights,
                            int64_t n, double* sums) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    atomicAdd(&sums[integer_at(x, dtype, i)], number_at(weights, weight_dtype, i));
}

__global__ void put_sums(const double* sums, int64_t n, void* y, DType dtype) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    put_number(y, dtype, i, sums[i]);
}

template <class T>
__device__ __forceinline__ T difference(T a, T b, T c, T d) {  // ab - cd
  if constexpr (is_complex_v<T>)
    return {(a.re * b.re - a.im * b.im) - (c.re * d.re - c.im * d.im),
            (a.re * b.im + a.im * b.re) - (c.re * d.im + c.im * d.re)};
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(uint64_t{a} * b - uint64_t{c} * d);
  else
    return a * b - c * d;
}

template <class T>
__global__ void cross_vectors(const T* x, const T* y, T* z, int64_t vectors, int64_t step) {
  using Acc = Computed<T>;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t at = i / step * 3 * step + i % step;
    Acc u[3], v[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      u[k] = load(x[at + k * step]);
      v[k] = load(y[at + k * step]);
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const int p = (k + 1) % 3, q = (k + 2) % 3;
      z[at + k * step] = store<T>(difference<Acc>(u[p], v[q], u[q], v[p]));
    }
  }
}

// One block of x at a time; `least` holds 0 when it starts.
template <class T>
__global__ void __launch_bounds__(kThreads)
    floor_elements(const T* x, T* y, int64_t n, double epsilon, double* least) {
  __shared__ double shared[kWarp];
  double low = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    const double v = static_cast<double>(load(x[i]));
    y[i] = v < epsilon ? store<T>(static_cast<Computed<T>>(epsilon)) : x[i];
    if (v < low) low = v;
  }
  low = block_reduce(low, 0.0, Min{}, shared);
  // Of negative doubles the least has the greatest bits.
  if (threadIdx.x == 0 && low < 0)
    atomicMax(reinterpret_cast<unsigned long long*>(least),
              static_cast<unsigned long long>(__double_as_longlong(low)));
}

}  // namespace

void find_bounds(cudaStream_t stream, DType dtype, const void* x, int64_t n, double* bounds) {
  const int blocks = grid(n, kThreads * 8);
  const Scratch parts(stream, static_cast<size_t>(blocks) * 2 * sizeof(double));
  bounds_of<<<blocks, kThreads, 0, stream>>>(dtype, x, n, nullptr, parts.data<double>());
  ARGOSY_CUDA_LAUNCHED();
  bounds_of<<<1, kThreads, 0, stream>>>(dtype, nullptr, blocks, parts.data<double>(), bounds);
  ARGOSY_CUDA_LAUNCHED();
}

void histogram(cudaStream_t stream, DType dtype, const void* x, DType weight_dtype,
               const void* weights, int64_t n, double low, double high, int64_t bins, bool density,
               void* counts, DType counts_dtype) {
  const Scratch sums(stream, static_cast<size_t>(bins) * sizeof(double));
  ARGOSY_CUDA(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream));
  if (n > 0) {
    const bool in_shared = bins <= kSharedBins;
    const size_t bytes = in_shared ? static_cast<size_t>(bins) * sizeof(double) : 0;
    count_bins<<<grid(n, kThreads * 4, 4), kThreads, bytes, stream>>>(
        dtype, x, weight_dtype, weights, n, low, high, bins, in_shared, sums.data<double>());
    ARGOSY_CUDA_LAUNCHED();
  }
  finish_bins<<<1, kThreads, 0, stream>>>(sums.data<double>(), bins, density,
                                          (high - low) / static_cast<double>(bins), counts,
                                          counts_dtype);
  ARGOSY_CUDA_LAUNCHED();
}

void bin_edges(cudaStream_t stream, double low, double high, int64_t bins, float* edges) {
  edges_of<<<grid(bins + 1, kThreads), kThreads, 0, stream>>>(low, high, bins, edges);
  ARGOSY_CUDA_LAUNCHED();
}

void bincount(cudaStream_t stream, DType dtype, const void* x, DType weight_dtype,
              const void* weights, int64_t n, int64_t size, void* counts, DType counts_dtype) {
  if (size == 0) return;
  if (!weights) {
    ARGOSY_CUDA(cudaMemsetAsync(counts, 0, static_cast<size_t>(size) * sizeof(int64_t), stream));
    if (n == 0) return;
    count_integers<<<grid(n, kThreads), kThreads, 0, stream>>>(
        dtype, x, n, static_cast<unsigned long long*>(counts));
    ARGOSY_CUDA_LAUNCHED();
    return;
  }
  const Scratch sums(stream, static_cast<size_t>(size) * sizeof(double));
  ARGOSY_CUDA(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream));
  if (n > 0) {
    add_weights<<<grid(n, kThreads), kThreads, 0, stream>>>(dtype, x, weight_dtype, weights, n,
                                                            sums.data<double>());
    ARGOSY_CUDA_LAUNCHED();
  }
  put_sums<<<grid(size, kThreads), kThreads, 0, stream>>>(sums.data<double>(), size, counts,
                                                          counts_dtype);
  ARGOSY_CUDA_LAUNCHED();
}

void cross(cudaStream_t stream, DType dtype, const void* x, const void* y, void* z, int64_t vectors,
           int64_t step) {
  if (vectors == 0) return;
  const auto run = [&]<class T>(Type<T>) {
    cross_vectors<<<grid(vectors, kThreads), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(z), vectors, step);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::complex64) return run(Type<c64>{});
  if (dtype == DType::complex128) return run(Type<c128>{});
  if (is_floating(dtype)) return with_floating("cross", dtype, run);
  with_unsigned(item_size(dtype), run);
}

void floor_variance(cudaStream_t stream, DType dtype, const void* x, void* y, int64_t n,
                    double epsilon, double* least) {
  ARGOSY_CUDA(cudaMemsetAsync(least, 0, sizeof(double), stream));
  if (n == 0) return;
  with_floating("floored_variance", dtype, [&]<class T>(Type<T>) {
    floor_elements<<<grid(n, kThreads), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(y), n, epsilon, least);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
