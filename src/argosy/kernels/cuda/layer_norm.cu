#include "argosy/kernels/cuda/layer_norm.h"
#include "argosy/kernels/cuda/norm_weights.cuh"

namespace argosy::cuda {
namespace {

template <class T>
struct Call {
  using C = Computed<T>;
  const T* x;
  T* y;
  C *mean, *rstd;
  Weights gamma, beta;
  int64_t rows, n;
  C epsilon;
};

template <class T, int P>
__device__ __forceinline__ Pack<T, P> normalized(const Call<T>& a, const Computed<T>* v, int64_t at,
                                                 Computed<T> mean, Computed<T> rstd) {
  using C = Computed<T>;
  C gamma[P], beta[P];
  load_weights<T, P>(a.gamma, at, C(1), gamma);
  load_weights<T, P>(a.beta, at, C(0), beta);
  Pack<T, P> out;
#pragma unroll
  for (int i = 0; i < P; ++i) out.at[i] = store<T>((v[i] - mean) * rstd * gamma[i] + beta[i]);
  return out;
}

template <class Row, class T>
__device__ __forceinline__ void keep(const Call<T>& a, int64_t r, Computed<T> mean,
                                     Computed<T> rstd) {
  if (Row::rank() != 0) return;
  a.mean[r] = mean;
  a.rstd[r] = rstd;
}

// How many of a row's n elements the warp holds.
template <class Row, int P, int K>
__device__ __forceinline__ int count_of_warp(int n) {
  const int first = Row::rank() / kWarp * kWarp;
  int count = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int rest = n - (first + k * Row::size()) * P;
    count += rest < 0 ? 0 : rest < kWarp * P ? rest : kWarp * P;
  }
  return count;
}

// Each warp takes the moments of what it holds about its own mean; they are put together behind the
// one barrier.
template <bool kRms, class T, int P, int K, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 512), kWarps ? 1 : 2) norm_held(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  struct Part {
    C count, mean, squares;
  };
  __shared__ Part room[2 * kWarp];
  Shared<Part> shared{room};
  const int n = static_cast<int>(a.n);
  const C count = static_cast<C>(count_of_warp<Row, P, K>(n)), share = C(1) / n;
  for (int64_t r = Row::first(); r < a.rows; r += Row::step()) {
    C v[K * P];
    load_row<Row, P, K>(a.x + r * n, n, store<T>(C(0)), v);
    C mean = 0, squares = 0;
    if constexpr (!kRms) {
#pragma unroll
      for (int i = 0; i < K * P; ++i) mean += v[i];
      mean = warp_reduce(mean, Sum());
      if (count > 0) mean /= count;
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (place_of<Row, P>(k) >= n) continue;
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const C apart = v[k * P + i] - mean;
        squares += apart * apart;
      }
    }
    squares = warp_reduce(squares, Sum());
    if constexpr (!kWarps) {
      const Part* all = shared.give({count, mean, squares});
      const int warps = static_cast<int>(blockDim.x) / kWarp;
      mean = squares = 0;
      if constexpr (!kRms) {
        for (int w = 0; w < warps; ++w) mean += all[w].count * share * all[w].mean;
      }
      for (int w = 0; w < warps; ++w) {
        const C apart = kRms ? C(0) : all[w].mean - mean;
        squares += all[w].squares + all[w].count * apart * apart;
      }
    }
    const C rstd = rsqrt_of(squares * share + a.epsilon);
    keep<Row>(a, r, mean, rstd);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at < n)
        *reinterpret_cast<Pack<T, P>*>(a.y + r * n + at) =
            normalized<T, P>(a, v + k * P, at, mean, rstd);
    }
  }
}

template <bool kRms, class T, int P, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 1024)) norm_again(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  for (int64_t r = Row::first(); r < a.rows; r += Row::step()) {
    const T* from = a.x + r * a.n;
    const int64_t step = static_cast<int64_t>(Row::size()) * P, begin = Row::rank() * P;
    auto load_at = [&](int64_t at, C(&v)[P]) {
      const auto raw = *reinterpret_cast<const Pack<T, P>*>(from + at);
#pragma unroll
      for (int i = 0; i < P; ++i) v[i] = load(raw.at[i]);
    };
    Moments<C> m;
#pragma unroll 4
    for (int64_t at = begin; at < a.n; at += step) {
      C v[P];
      load_at(at, v);
      if constexpr (kRms) {
#pragma unroll
        for (int i = 0; i < P; ++i) m.squares += v[i] * v[i];
      } else {
        m.add(v);
      }
    }
    if constexpr (kRms)
      m.squares = Row::reduce(m.squares, C(0), Sum());
    else
      m.template combine<Row>(static_cast<C>(a.n));
    const C rstd = rsqrt_of(m.squares / static_cast<C>(a.n) + a.epsilon);
    keep<Row>(a, r, m.mean, rstd);
#pragma unroll 2
    for (int64_t at = begin; at < a.n; at += step) {
      C v[P];
      load_at(at, v);
      *reinterpret_cast<Pack<T, P>*>(a.y + r * a.n + at) = normalized<T, P>(a, v, at, m.mean, rstd);
    }
  }
}

template <bool kRms, class T>
struct Forward {
  [[maybe_unused]] static constexpr int kHeld = 32;
  cudaStream_t stream;
  Call<T> call;

  template <int P, int K, bool kWarps>
  void held() const {
    norm_held<kRms, T, P, K, kWarps>
        <<<team_blocks(call.rows, kWarps), team_threads(call.n, P * K, kWarps), 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  }
  template <int P>
  void again(bool warps) const {
    if (warps)
      norm_again<kRms, T, P, true>
          <<<team_blocks(call.rows, true), team_threads(call.n, 1, true), 0, stream>>>(call);
    else
      norm_again<kRms, T, P, false><<<team_blocks(call.rows, false), 1024, 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  }
};

}  // namespace

void layer_norm(cudaStream_t stream, const RowNorm& a, const void* x, const void* gamma,
                const void* beta, void* y, void* mean, void* rstd) {
  if (a.rows * a.n == 0) return;
  with_floating("layer_norm", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const bool narrow = a.weight_dtype == a.dtype;
    const Call<T> call{static_cast<const T*>(x),
                       static_cast<T*>(y),
                       static_cast<C*>(mean),
                       static_cast<C*>(rstd),
                       {gamma, narrow},
                       {beta, narrow},
                       a.rows,
                       a.n,
                       static_cast<C>(a.epsilon)};
    const bool packed =
        a.n % kPack<T> == 0 && aligned(x) && aligned(y) && aligned(gamma) && aligned(beta);
    if (a.rms)
      with_team<T>(a.n, packed, Forward<true, T>{stream, call});
    else
      with_team<T>(a.n, packed, Forward<false, T>{stream, call});
  });
}

}  // namespace argosy::cuda
