#include "argosy/kernels/cuda/columns.cuh"
#include "argosy/kernels/cuda/rows.cuh"
#include "argosy/kernels/cuda/softmax.h"

namespace argosy::cuda {
namespace {

// What is summed along the row, and the gradient from that sum.
template <bool kLog, class C>
__device__ __forceinline__ C term(C y, C dy) {
  return kLog ? dy : y * dy;
}
template <bool kLog, class T>
__device__ __forceinline__ T result(Computed<T> y, Computed<T> dy, Computed<T> sum) {
  if constexpr (kLog) return store<T>(dy - exp_for<T>(y) * sum);
  return store<T>(y * (dy - sum));
}

template <bool kLog, class T, int P, int K, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 512))
    grad_held(const T* y, const T* dy, T* dx, int64_t rows, int n) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  for (int64_t r = Row::first(); r < rows; r += Row::step()) {
    Pack<T, P> of_y[K], of_dy[K];
    load_packs<Row, P, K>(y + r * n, n, of_y);
    load_packs<Row, P, K>(dy + r * n, n, of_dy);
    C sum = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (place_of<Row, P>(k) >= n) continue;
#pragma unroll
      for (int i = 0; i < P; ++i) sum += term<kLog>(load(of_y[k].at[i]), load(of_dy[k].at[i]));
    }
    sum = Row::reduce(sum, C(0), Sum());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at >= n) continue;
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i)
        out.at[i] = result<kLog, T>(load(of_y[k].at[i]), load(of_dy[k].at[i]), sum);
      *reinterpret_cast<Pack<T, P>*>(dx + r * n + at) = out;
    }
  }
}

template <bool kLog, class T, int P, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 1024))
    grad_again(const T* y, const T* dy, T* dx, int64_t rows, int64_t n) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  for (int64_t r = Row::first(); r < rows; r += Row::step()) {
    const int64_t step = static_cast<int64_t>(Row::size()) * P, begin = r * n + Row::rank() * P,
                  end = (r + 1) * n;
    C sum = 0;
#pragma unroll 4
    for (int64_t at = begin; at < end; at += step) {
      const auto a = *reinterpret_cast<const Pack<T, P>*>(y + at);
      const auto b = *reinterpret_cast<const Pack<T, P>*>(dy + at);
#pragma unroll
      for (int i = 0; i < P; ++i) sum += term<kLog>(load(a.at[i]), load(b.at[i]));
    }
    sum = Row::reduce(sum, C(0), Sum());
#pragma unroll 2
    for (int64_t at = begin; at < end; at += step) {
      const auto a = *reinterpret_cast<const Pack<T, P>*>(y + at);
      const auto b = *reinterpret_cast<const Pack<T, P>*>(dy + at);
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i) out.at[i] = result<kLog, T>(load(a.at[i]), load(b.at[i]), sum);
      *reinterpret_cast<Pack<T, P>*>(dx + at) = out;
    }
  }
}

template <bool kLog, class T>
__global__ void __launch_bounds__(256)
    grad_columns(const T* y, const T* dy, T* dx, int64_t outer, int64_t n, int64_t inner) {
  using C = Computed<T>;
  __shared__ C shared[256];
  for_columns(outer, n, inner, [&](int64_t first) {
    C sum = 0;
    if (first >= 0) {
      for (int64_t j = threadIdx.y; j < n; j += blockDim.y) {
        const int64_t at = first + j * inner;
        sum += term<kLog>(load(y[at]), load(dy[at]));
      }
    }
    sum = column_reduce(sum, Sum(), shared);
    if (first < 0) return;
    for (int64_t j = threadIdx.y; j < n; j += blockDim.y) {
      const int64_t at = first + j * inner;
      dx[at] = result<kLog, T>(load(y[at]), load(dy[at]), sum);
    }
  });
}

template <bool kLog, class T>
struct Backward {
  [[maybe_unused]] static constexpr int kHeld = 16;
  cudaStream_t stream;
  const T *y, *dy;
  T* dx;
  int64_t rows, n;

  template <int P, int K, bool kWarps>
  void held() const {
    grad_held<kLog, T, P, K, kWarps>
        <<<team_blocks(rows, kWarps), team_threads(n, P * K, kWarps), 0, stream>>>(
            y, dy, dx, rows, static_cast<int>(n));
    ARGOSY_CUDA_LAUNCHED();
  }
  template <int P>
  void again(bool warps) const {
    if (warps)
      grad_again<kLog, T, P, true>
          <<<team_blocks(rows, true), team_threads(n, 1, true), 0, stream>>>(y, dy, dx, rows, n);
    else
      grad_again<kLog, T, P, false>
          <<<team_blocks(rows, false), 1024, 0, stream>>>(y, dy, dx, rows, n);
    ARGOSY_CUDA_LAUNCHED();
  }
};

template <bool kLog, class T>
void backward(cudaStream_t stream, const void* y, const void* dy, void* dx, int64_t outer,
              int64_t n, int64_t inner) {
  const T *of_y = static_cast<const T*>(y), *of_dy = static_cast<const T*>(dy);
  T* to = static_cast<T*>(dx);
  if (inner == 1) {
    const bool packed = n % kPack<T> == 0 && aligned(y) && aligned(dy) && aligned(dx);
    return with_team<T>(n, packed, Backward<kLog, T>{stream, of_y, of_dy, to, outer, n});
  }
  const ColumnBlock block = column_block(n, inner);
  grad_columns<kLog, T><<<column_blocks(outer, inner, block), dim3(block.x, block.y), 0, stream>>>(
      of_y, of_dy, to, outer, n, inner);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace

void softmax_grad(cudaStream_t stream, DType dtype, bool log, const void* y, const void* dy,
                  void* dx, int64_t outer, int64_t n, int64_t inner) {
  if (outer * n * inner == 0) return;
  with_floating("softmax_grad", dtype, [&]<class T>(Type<T>) {
    log ? backward<true, T>(stream, y, dy, dx, outer, n, inner)
        : backward<false, T>(stream, y, dy, dx, outer, n, inner);
  });
}

}  // namespace argosy::cuda
