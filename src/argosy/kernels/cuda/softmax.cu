#include "argosy/kernels/cuda/columns.cuh"
#include "argosy/kernels/cuda/rows.cuh"
#include "argosy/kernels/cuda/softmax.h"

namespace argosy::cuda {
namespace {

template <bool kLog, class T>
__device__ __forceinline__ T result(Computed<T> v, const ExpSum<T>& s, Computed<T> last) {
  // In this order: high may be far greater than the logarithm.
  if constexpr (kLog) return store<T>(v - s.high - last);
  return store<T>(exp_for<T>(v - s.high) * last);
}
// Of the sum: its logarithm, or the factor.
template <bool kLog, class C>
__device__ __forceinline__ C last_of(C sum) {
  return kLog ? log_of(sum) : 1 / sum;
}

// Each warp has its own greatest number until the sums are put together, behind the one barrier.
template <bool kLog, class T, int P, int K, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 512))
    softmax_held(const T* x, T* y, int64_t rows, int n) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  struct Part {
    C high, sum;
  };
  __shared__ Part room[2 * kWarp];
  Shared<Part> shared{room};
  for (int64_t r = Row::first(); r < rows; r += Row::step()) {
    C v[K * P];
    load_row<Row, P, K>(x + r * n, n, store<T>(minus_infinity<C>()), v);
    C high = minus_infinity<C>(), sum = 0;
#pragma unroll
    for (int i = 0; i < K * P; ++i) high = Most()(high, v[i]);
    high = warp_reduce(high, Most());
    const C shift = ExpSum<T>::shift_of(high);
    // Without the logarithm the exponentials stand in for the numbers.
#pragma unroll
    for (int i = 0; i < K * P; ++i) {
      const C e = exp_apart<T>(v[i], shift);
      sum += e;
      if constexpr (!kLog) v[i] = e;
    }
    sum = warp_reduce(sum, Sum());
    C most = high;
    if constexpr (!kWarps) {
      const Part* all = shared.give({high, sum});
      const int warps = static_cast<int>(blockDim.x) / kWarp;
      for (int w = 0; w < warps; ++w) most = Most()(most, all[w].high);
      sum = 0;
      for (int w = 0; w < warps; ++w)
        sum += all[w].sum * exp_for<T>(all[w].high - ExpSum<T>::shift_of(most));
    }
    // Of a row that is all -inf the scale is NaN.
    const C last = kLog ? log_of(sum) : exp_for<T>(high - most) / sum;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at >= n) continue;
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const C e = v[k * P + i];
        out.at[i] = store<T>(kLog ? e - most - last : e * last);
      }
      *reinterpret_cast<Pack<T, P>*>(y + r * n + at) = out;
    }
  }
}

template <bool kLog, class T, int P, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 1024))
    softmax_again(const T* x, T* y, int64_t rows, int64_t n) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  for (int64_t r = Row::first(); r < rows; r += Row::step()) {
    const T* from = x + r * n;
    const int64_t step = static_cast<int64_t>(Row::size()) * P, begin = Row::rank() * P;
    ExpSum<T> s;
#pragma unroll 4
    for (int64_t at = begin; at < n; at += step) {
      const Pack<T, P> raw = *reinterpret_cast<const Pack<T, P>*>(from + at);
      C v[P];
#pragma unroll
      for (int i = 0; i < P; ++i) v[i] = load(raw.at[i]);
      s.add(v);
    }
    s.template combine<Row>();
    const C last = last_of<kLog>(s.sum);
    map_row<Row, P>(from, y + r * n, n,
                    [&](T v, int64_t) { return result<kLog, T>(load(v), s, last); });
  }
}

template <bool kLog, class T>
__global__ void __launch_bounds__(256)
    softmax_columns(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  using C = Computed<T>;
  __shared__ C shared[256];
  for_columns(outer, n, inner, [&](int64_t first) {
    ExpSum<T> s;
    if (first >= 0) {
      for (int64_t j = threadIdx.y; j < n; j += blockDim.y) {
        const C v[1] = {load(x[first + j * inner])};
        s.add(v);
      }
    }
    const C most = column_reduce(s.high, Max(), shared);
    s.sum = column_reduce(s.sum * exp_for<T>(s.high - ExpSum<T>::shift_of(most)), Sum(), shared);
    s.high = most;
    if (first < 0) return;
    const C last = last_of<kLog>(s.sum);
    for (int64_t j = threadIdx.y; j < n; j += blockDim.y) {
      const int64_t at = first + j * inner;
      y[at] = result<kLog, T>(load(x[at]), s, last);
    }
  });
}

template <bool kLog, class T>
struct Forward {
  [[maybe_unused]] static constexpr int kHeld = 32;
  cudaStream_t stream;
  const T* x;
  T* y;
  int64_t rows, n;

  template <int P, int K, bool kWarps>
  void held() const {
    softmax_held<kLog, T, P, K, kWarps>
        <<<team_blocks(rows, kWarps), team_threads(n, P * K, kWarps), 0, stream>>>(
            x, y, rows, static_cast<int>(n));
    ARGOSY_CUDA_LAUNCHED();
  }
  template <int P>
  void again(bool warps) const {
    if (warps)
      softmax_again<kLog, T, P, true>
          <<<team_blocks(rows, true), team_threads(n, 1, true), 0, stream>>>(x, y, rows, n);
    else
      softmax_again<kLog, T, P, false>
          <<<team_blocks(rows, false), 1024, 0, stream>>>(x, y, rows, n);
    ARGOSY_CUDA_LAUNCHED();
  }
};

template <bool kLog, class T>
void forward(cudaStream_t stream, const void* x, void* y, int64_t outer, int64_t n, int64_t inner) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  if (inner == 1) {
    const bool packed = n % kPack<T> == 0 && aligned(x) && aligned(y);
    return with_team<T>(n, packed, Forward<kLog, T>{stream, from, to, outer, n});
  }
  const ColumnBlock block = column_block(n, inner);
  softmax_columns<kLog, T>
      <<<column_blocks(outer, inner, block), dim3(block.x, block.y), 0, stream>>>(from, to, outer,
                                                                                  n, inner);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace

void softmax(cudaStream_t stream, DType dtype, bool log, const void* x, void* y, int64_t outer,
             int64_t n, int64_t inner) {
  if (outer * n * inner == 0) return;
  with_floating("softmax", dtype, [&]<class T>(Type<T>) {
    log ? forward<true, T>(stream, x, y, outer, n, inner)
        : forward<false, T>(stream, x, y, outer, n, inner);
  });
}

}  // namespace argosy::cuda
