#include "argosy/kernels/cuda/creation.h"

#include <cstring>
#include <numeric>

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/math.cuh"

namespace argosy::cuda {
namespace {

constexpr int kBlock = 256;

// out[i] = f(i), whatever f is.
template <class T, class F>
__global__ void __launch_bounds__(kBlock) of_index(T* out, int64_t n, const F f) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += step) out[i] = f(i);
}
template <class T, class F>
void run_of_index(cudaStream_t stream, void* out, int64_t n, const F& f) {
  if (n == 0) return;
  of_index<T, F><<<grid(n, kBlock), kBlock, 0, stream>>>(static_cast<T*>(out), n, f);
  ARGOSY_CUDA_LAUNCHED();
}

template <class T>
__device__ __forceinline__ T of_double(double v) {
  if constexpr (is_complex_v<T>)
    return {static_cast<decltype(T::re)>(v), 0};
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(v));
  else
    return store<T>(static_cast<Computed<T>>(v));
}

template <class T>
struct Count {
  int64_t first, by;
  __device__ T operator()(int64_t i) const { return static_cast<T>(first + i * by); }
};
template <class T>
struct Steps {
  double first, by;
  __device__ T operator()(int64_t i) const {
    return of_double<T>(first + product_of(static_cast<double>(i), by));
  }
};
// Counted from both ends, so that the last value is stop.
template <class T, bool powers>
struct Spread {
  double start, stop, step, base;
  int64_t n;
  __device__ T operator()(int64_t i) const {
    const double v = i < n / 2 || n == 1 ? start + product_of(step, static_cast<double>(i))
                                         : stop - product_of(step, static_cast<double>(n - 1 - i));
    return of_double<T>(powers ? pow(base, v) : v);
  }
};

template <class F>
void with_range(const char* what, DType dtype, F&& f) {
  if (dtype == DType::complex64) return f(Type<c64>{});
  if (dtype == DType::complex128) return f(Type<c128>{});
  with_real(what, dtype, f);
}

template <bool powers>
void spread(cudaStream_t stream, DType dtype, void* out, int64_t n, double start, double stop,
            double base) {
  const double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
  with_range("linspace", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    run_of_index<T>(stream, out, n, Spread<T, powers>{start, stop, step, base, n});
  });
}

template <class T>
__global__ void __launch_bounds__(kBlock) diagonal(T* out, int64_t n, int64_t pitch, const T one) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += step)
    out[i * pitch] = one;
}

// A pack lies in one row. Rows are numbered over all matrices.
template <class T, int kEach>
__global__ void __launch_bounds__(kBlock)
    triangles(const T* x, T* out, int64_t all_rows, uint32_t rows, uint32_t packs, int64_t offset,
              bool lower) {
  using P = Pack<T, kEach>;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < all_rows; row += step) {
    const int64_t edge = row % rows + offset;  // the diagonal's column
    for (uint32_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const int64_t first = int64_t{i} * kEach, last = first + kEach - 1;
      P pack{};
      if (lower ? first <= edge : last >= edge) {
        pack = reinterpret_cast<const P*>(x)[row * packs + i];
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          if (lower ? first + j > edge : first + j < edge) pack.at[j] = T{};
      }
      reinterpret_cast<P*>(out)[row * packs + i] = pack;
    }
  }
}

struct Candidates {
  const void* at[kMostCandidates];
};
template <class T, class I>
__global__ void __launch_bounds__(kBlock)
    choose_rows(const __grid_constant__ Candidates from, int count, const I* index, T* out,
                int64_t rows, int64_t columns) {
  const int64_t all = rows * columns, step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < all; i += step) {
    const int64_t k = index[i / columns];
    out[i] = k >= 0 && k < count ? static_cast<const T*>(from.at[k])[i] : T{};
  }
}

}  // namespace

void arange(cudaStream_t stream, DType dtype, void* out, int64_t n, int64_t first, int64_t by) {
  with_integral("arange", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    run_of_index<T>(stream, out, n, Count<T>{first, by});
  });
}
void arange(cudaStream_t stream, DType dtype, void* out, int64_t n, double first, double by) {
  if (dtype == DType::complex64) return run_of_index<c64>(stream, out, n, Steps<c64>{first, by});
  if (dtype == DType::complex128) return run_of_index<c128>(stream, out, n, Steps<c128>{first, by});
  with_floating("arange", dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    run_of_index<T>(stream, out, n, Steps<T>{first, by});
  });
}
void linspace(cudaStream_t stream, DType dtype, void* out, int64_t n, double start, double stop) {
  spread<false>(stream, dtype, out, n, start, stop, 0);
}
void logspace(cudaStream_t stream, DType dtype, void* out, int64_t n, double start, double stop,
              double base) {
  spread<true>(stream, dtype, out, n, start, stop, base);
}

void eye(cudaStream_t stream, int item_size, void* out, int64_t rows, int64_t columns,
         const void* one) {
  const int64_t n = rows < columns ? rows : columns;
  if (n == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(out, 0, static_cast<size_t>(rows * columns * item_size), stream));
  with_width(item_size, [&](auto type) {
    using T = typename decltype(type)::type;
    T value;
    std::memcpy(&value, one, sizeof(T));
    diagonal<T>
        <<<grid(n, kBlock), kBlock, 0, stream>>>(static_cast<T*>(out), n, columns + 1, value);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void triangle(cudaStream_t stream, int item_size, const void* x, void* out, int64_t matrices,
              int64_t rows, int64_t columns, int64_t diagonal, bool lower) {
  const int64_t all = matrices * rows;
  if (all * columns == 0) return;
  with_width(item_size, [&](auto type) {
    using T = typename decltype(type)::type;
    const bool packed = columns % kPack<T> == 0 && aligned(x) && aligned(out);
    const auto run = [&]<int kEach>(std::integral_constant<int, kEach>) {
      const int64_t packs = columns / kEach;
      // A block takes several rows where they are short.
      int across = 32;
      while (across < kBlock && across < packs) across *= 2;
      const dim3 block(static_cast<unsigned>(across), static_cast<unsigned>(kBlock / across));
      triangles<T, kEach><<<grid(all, block.y, 32), block, 0, stream>>>(
          static_cast<const T*>(x), static_cast<T*>(out), all, static_cast<uint32_t>(rows),
          static_cast<uint32_t>(packs), diagonal, lower);
      ARGOSY_CUDA_LAUNCHED();
    };
    if (packed)
      run(std::integral_constant<int, kPack<T>>{});
    else
      run(std::integral_constant<int, 1>{});
  });
}

void multiplex(cudaStream_t stream, const void* const* inputs, int count, DType index_dtype,
               const void* index, void* out, int64_t rows, int64_t bytes) {
  if (rows * bytes == 0) return;
  Candidates from;
  int64_t unit = std::gcd(bytes, int64_t{16});
  for (int k = 0; k < count; ++k) {
    from.at[k] = inputs[k];
    while (unit > 1 && !aligned(inputs[k], static_cast<size_t>(unit))) unit /= 2;
  }
  while (unit > 1 && !aligned(out, static_cast<size_t>(unit))) unit /= 2;
  with_width(static_cast<int>(unit), [&](auto type) {
    using T = typename decltype(type)::type;
    const int64_t columns = bytes / static_cast<int64_t>(sizeof(T));
    with_index("multiplex", index_dtype, [&](auto index_type) {
      using I = typename decltype(index_type)::type;
      choose_rows<T, I><<<grid(rows * columns, kBlock), kBlock, 0, stream>>>(
          from, count, static_cast<const I*>(index), static_cast<T*>(out), rows, columns);
      ARGOSY_CUDA_LAUNCHED();
    });
  });
}

}  // namespace argosy::cuda
