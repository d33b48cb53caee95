#include <cuda_pipeline_primitives.h>

#include "argosy/kernels/cuda/layer_norm.h"
#include "argosy/kernels/cuda/norm_weights.cuh"

namespace argosy::cuda {
namespace {

template <class T>
struct Call {
  using C = Computed<T>;
  const T *x, *dy;
  T* dx;
  const C *mean, *rstd;  // mean is null for rms
  Weights gamma;
  int64_t rows, n;
  // Sums over the rows of each block, [blocks, n] for gamma and for beta; null if not wanted.
  C *of_gamma, *of_beta;
};

// Where rows are held, a block keeps what it adds up for its columns in registers; warps of a block
// then add theirs one after the other.
template <class T, int P, int K, bool kWarps>
__device__ __forceinline__ void give_sums(Computed<T>* to, int n, const Computed<T> (&v)[K * P]) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  to += static_cast<int64_t>(blockIdx.x) * n;
  if constexpr (!kWarps) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at >= n) continue;
#pragma unroll
      for (int i = 0; i < P; ++i) to[at + i] = v[k * P + i];
    }
  } else {
    __shared__ C sums[kWarp * K * P];
    for (int warp = 0; warp < kWarpsOfBlock; ++warp) {
      if (static_cast<int>(threadIdx.x) / kWarp == warp) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const int at = place_of<Row, P>(k);
#pragma unroll
          for (int i = 0; i < P; ++i)
            sums[at + i] = warp == 0 ? v[k * P + i] : sums[at + i] + v[k * P + i];
        }
      }
      __syncthreads();
    }
    for (int at = static_cast<int>(threadIdx.x); at < n; at += static_cast<int>(blockDim.x))
      to[at] = sums[at];
    __syncthreads();
  }
}

// A row of x and of dy as they lie, with its statistics.
template <class T, int P, int K>
struct RowPair {
  Pack<T, P> x[K], dy[K];
  Computed<T> mean, rstd;

  template <bool kRms, class Row>
  __device__ __forceinline__ void load_from(const Call<T>& a, int64_t r) {
    const int n = static_cast<int>(a.n);
    load_packs<Row, P, K>(a.x + r * n, n, x);
    load_packs<Row, P, K>(a.dy + r * n, n, dy);
    mean = kRms ? Computed<T>(0) : a.mean[r];
    rstd = a.rstd[r];
  }
};

constexpr int kMostThreads = 512;  // of a block that holds a row

// A team has many rows, and loads the next one before it adds up this one, where registers allow.
template <bool kRms, class T, int P, int K, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, kMostThreads), kWarps || P * K > 8 ? 1 : 2)
    grad_held(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  constexpr bool kAhead = sizeof(T) * P * K <= 32;
  struct Part {
    C sum, product;
  };
  __shared__ Part room[2 * kWarp];
  Shared<Part> shared{room};
  const int n = static_cast<int>(a.n);
  C gamma[K * P], of_gamma[K * P], of_beta[K * P];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int at = place_of<Row, P>(k);
    C g[P];
    if (at < n) load_weights<T, P>(a.gamma, at, C(1), g);
#pragma unroll
    for (int i = 0; i < P; ++i) {
      gamma[k * P + i] = at < n ? g[i] : C(0);
      of_gamma[k * P + i] = of_beta[k * P + i] = 0;
    }
  }
  RowPair<T, P, K> now, next;
  if (kAhead && Row::first() < a.rows) next.template load_from<kRms, Row>(a, Row::first());
  for (int64_t r = Row::first(); r < a.rows; r += Row::step()) {
    if constexpr (kAhead) {
      now = next;
      if (r + Row::step() < a.rows) next.template load_from<kRms, Row>(a, r + Row::step());
    } else {
      now.template load_from<kRms, Row>(a, r);
    }
    C sum = 0, product = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (place_of<Row, P>(k) >= n) continue;
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const int e = k * P + i;
        const C dy = load(now.dy[k].at[i]), y = (load(now.x[k].at[i]) - now.mean) * now.rstd;
        const C g = gamma[e] * dy;
        sum += g;
        product += g * y;
        of_gamma[e] += dy * y;
        of_beta[e] += dy;
      }
    }
    if constexpr (!kRms) sum = warp_reduce(sum, Sum());
    product = warp_reduce(product, Sum());
    if constexpr (!kWarps) {
      const Part* all = shared.give({sum, product});
      const int warps = static_cast<int>(blockDim.x) / kWarp;
      sum = product = 0;
      for (int w = 0; w < warps; ++w) {
        sum += all[w].sum;
        product += all[w].product;
      }
    }
    // dx = rstd * (gamma dy - sum / n - y product / n)
    const C by_y = -now.rstd * product / n, rest = kRms ? C(0) : -now.rstd * sum / n;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at >= n) continue;
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const C y = (load(now.x[k].at[i]) - now.mean) * now.rstd;
        const C g = gamma[k * P + i] * load(now.dy[k].at[i]);
        out.at[i] = store<T>(now.rstd * g + (y * by_y + rest));
      }
      *reinterpret_cast<Pack<T, P>*>(a.dx + r * n + at) = out;
    }
  }
  if (a.of_gamma) give_sums<T, P, K, kWarps>(a.of_gamma, n, of_gamma);
  if (a.of_beta) give_sums<T, P, K, kWarps>(a.of_beta, n, of_beta);
}

// Rows of one block, the next two of which are on their way through shared memory: a thread copies
// there, and waits for, what it reads itself, so the one barrier of a row is that of its sums. What
// is kept of a row between its two uses is numbers, not registers to be turned into numbers twice.
constexpr int kPipedThreads = 256;

template <bool kRms, class T, int P, int K>
__global__ void __launch_bounds__(kPipedThreads, P* K > 8 ? 2 : 3) grad_piped(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<false>;
  struct Part {
    C sum, product;
  };
  constexpr int kStages = 2;
  __shared__ Pack<T, P> held[kStages][2][K][kPipedThreads];
  __shared__ Part room[2 * kWarp];
  Shared<Part> shared{room};
  const int n = static_cast<int>(a.n), self = static_cast<int>(threadIdx.x);
  C gamma[K * P], of_gamma[K * P], of_beta[K * P];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int at = place_of<Row, P>(k);
    C g[P];
    if (at < n) load_weights<T, P>(a.gamma, at, C(1), g);
#pragma unroll
    for (int i = 0; i < P; ++i) {
      gamma[k * P + i] = at < n ? g[i] : C(0);
      of_gamma[k * P + i] = of_beta[k * P + i] = 0;
    }
  }
  // A group of copies for each row, none in it behind the last.
  const auto fetch = [&](int64_t r, int stage) {
    if (r < a.rows) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int at = place_of<Row, P>(k);
        if (at >= n) continue;
        __pipeline_memcpy_async(&held[stage][0][k][self], a.x + r * n + at, sizeof(Pack<T, P>));
        __pipeline_memcpy_async(&held[stage][1][k][self], a.dy + r * n + at, sizeof(Pack<T, P>));
      }
    }
    __pipeline_commit();
  };
  const int64_t step = Row::step();
  C next_mean = 0, next_rstd = 0;
  const auto fetch_statistics = [&](int64_t r) {
    if (r >= a.rows) return;
    if constexpr (!kRms) next_mean = a.mean[r];
    next_rstd = a.rstd[r];
  };
  fetch(Row::first(), 0);
  fetch(Row::first() + step, 1);
  fetch_statistics(Row::first());
  int stage = 0;
  for (int64_t r = Row::first(); r < a.rows; r += step) {
    const C mean = next_mean, rstd = next_rstd;
    fetch_statistics(r + step);
    __pipeline_wait_prior(1);
    C y[K * P], g[K * P], sum = 0, product = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const bool in = place_of<Row, P>(k) < n;
      Pack<T, P> x, dy;
      if (in) {
        x = held[stage][0][k][self];
        dy = held[stage][1][k][self];
      }
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const int e = k * P + i;
        const C of_y = in ? load(dy.at[i]) : C(0);
        y[e] = in ? (load(x.at[i]) - mean) * rstd : C(0);
        g[e] = gamma[e] * of_y;
        sum += g[e];
        product += g[e] * y[e];
        of_gamma[e] += of_y * y[e];
        of_beta[e] += of_y;
      }
    }
    if constexpr (!kRms) sum = warp_reduce(sum, Sum());
    product = warp_reduce(product, Sum());
    const Part* all = shared.give({sum, product});
    // Behind the barrier nobody reads this row's copies any more.
    fetch(r + 2 * step, stage);
    stage ^= 1;
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    sum = product = 0;
    for (int w = 0; w < warps; ++w) {
      sum += all[w].sum;
      product += all[w].product;
    }
    // dx = rstd * (gamma dy - sum / n - y product / n)
    const C by_y = -rstd * product / n, rest = kRms ? C(0) : -rstd * sum / n;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = place_of<Row, P>(k);
      if (at >= n) continue;
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i) {
        const int e = k * P + i;
        out.at[i] = store<T>(rstd * g[e] + (y[e] * by_y + rest));
      }
      *reinterpret_cast<Pack<T, P>*>(a.dx + r * n + at) = out;
    }
  }
  if (a.of_gamma) give_sums<T, P, K, false>(a.of_gamma, n, of_gamma);
  if (a.of_beta) give_sums<T, P, K, false>(a.of_beta, n, of_beta);
}

template <bool kRms, class T, int P>
__global__ void __launch_bounds__(512) dx_again(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<false>;
  for (int64_t r = Row::first(); r < a.rows; r += Row::step()) {
    const C mean = kRms ? C(0) : a.mean[r], rstd = a.rstd[r];
    const int64_t step = static_cast<int64_t>(Row::size()) * P, begin = Row::rank() * P;
    const T *x = a.x + r * a.n, *of_dy = a.dy + r * a.n;
    // f(place in the row, weighted dy, y) of each pack
    auto for_packs = [&](auto&& f) {
#pragma unroll 2
      for (int64_t at = begin; at < a.n; at += step) {
        const auto raw_x = *reinterpret_cast<const Pack<T, P>*>(x + at);
        const auto raw_dy = *reinterpret_cast<const Pack<T, P>*>(of_dy + at);
        C gamma[P], g[P], y[P];
        load_weights<T, P>(a.gamma, at, C(1), gamma);
#pragma unroll
        for (int i = 0; i < P; ++i) {
          g[i] = gamma[i] * load(raw_dy.at[i]);
          y[i] = (load(raw_x.at[i]) - mean) * rstd;
        }
        f(at, g, y);
      }
    };
    C sum = 0, product = 0;
    for_packs([&](int64_t, const C(&g)[P], const C(&y)[P]) {
#pragma unroll
      for (int i = 0; i < P; ++i) {
        sum += g[i];
        product += g[i] * y[i];
      }
    });
    if constexpr (!kRms) sum = Row::reduce(sum, C(0), Sum()) / static_cast<C>(a.n);
    product = Row::reduce(product, C(0), Sum()) / static_cast<C>(a.n);
    for_packs([&](int64_t at, const C(&g)[P], const C(&y)[P]) {
      Pack<T, P> out;
#pragma unroll
      for (int i = 0; i < P; ++i)
        out.at[i] = store<T>(rstd * (g[i] - (kRms ? y[i] * product : sum + y[i] * product)));
      *reinterpret_cast<Pack<T, P>*>(a.dx + r * a.n + at) = out;
    });
  }
}

constexpr int kTile = 32;

// Over the threads of a column of a block of kTile x kTile; those of the first row get it.
template <class C>
__device__ __forceinline__ C sum_down(C v, C (*shared)[kTile + 1]) {
  shared[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  v = warp_reduce(shared[threadIdx.x][threadIdx.y], Sum());
  __syncthreads();
  if (threadIdx.x == 0) shared[0][threadIdx.y] = v;
  __syncthreads();
  v = shared[0][threadIdx.x];
  __syncthreads();
  return v;
}

// of_gamma, of_beta [gridDim.y, n] from rows that are not held.
template <bool kRms, class T>
__global__ void __launch_bounds__(kTile* kTile) sums_again(Call<T> a) {
  using C = Computed<T>;
  __shared__ C shared[kTile][kTile + 1];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile + threadIdx.x;
  C gamma = 0, beta = 0;
  if (column < a.n) {
    for (int64_t r = static_cast<int64_t>(blockIdx.y) * kTile + threadIdx.y; r < a.rows;
         r += static_cast<int64_t>(gridDim.y) * kTile) {
      const C dy = load(a.dy[r * a.n + column]);
      const C mean = kRms ? C(0) : a.mean[r];
      gamma += dy * (load(a.x[r * a.n + column]) - mean) * a.rstd[r];
      beta += dy;
    }
  }
  gamma = sum_down(gamma, shared);
  beta = sum_down(beta, shared);
  if (threadIdx.y != 0 || column >= a.n) return;
  const int64_t to = static_cast<int64_t>(blockIdx.y) * a.n + column;
  if (a.of_gamma) a.of_gamma[to] = gamma;
  if (a.of_beta) a.of_beta[to] = beta;
}

// out[n] from the sums of `parts` blocks, for gamma and for beta.
template <class C, class W>
__global__ void __launch_bounds__(kTile* kTile)
    add_up(const C* of_gamma, const C* of_beta, int64_t parts, int64_t n, W* gamma, W* beta) {
  const C* from = blockIdx.y ? of_beta : of_gamma;
  W* out = blockIdx.y ? beta : gamma;
  if (!out) return;
  __shared__ C shared[kTile][kTile + 1];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile + threadIdx.x;
  C sum = 0;
  if (column < n) {
#pragma unroll 4
    for (int64_t p = threadIdx.y; p < parts; p += kTile) sum += from[p * n + column];
  }
  sum = sum_down(sum, shared);
  if (threadIdx.y == 0 && column < n) out[column] = store<W>(static_cast<Computed<W>>(sum));
}

template <bool kRms, class T>
struct Backward {
  using C = Computed<T>;
  cudaStream_t stream;
  Call<T> call;
  bool narrow;
  void *dgamma, *dbeta;

  template <int P, int K, bool kWarps>
  void held() const {
    // Some rows for each team, so that sums of blocks are few beside what is read.
    const unsigned threads = team_threads(call.n, P * K, kWarps);
    const int64_t per = 4 * (kWarps ? kWarpsOfBlock : 1);
    const int most = multiprocessors() * std::max(1, 1024 / static_cast<int>(threads));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((call.rows + per - 1) / per, most));
    with_sums(blocks, [&](const Call<T>& c) {
      grad_held<kRms, T, P, K, kWarps><<<blocks, threads, 0, stream>>>(c);
      ARGOSY_CUDA_LAUNCHED();
    });
  }
  // At least eight rows a block, and no more blocks than run at once.
  template <int P, int K>
  void piped() const {
    const unsigned threads = team_threads(call.n, P * K, false);
    const int most = multiprocessors() * std::max(2, 640 / static_cast<int>(threads));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((call.rows + 7) / 8, most));
    with_sums(blocks, [&](const Call<T>& c) {
      grad_piped<kRms, T, P, K><<<blocks, threads, 0, stream>>>(c);
      ARGOSY_CUDA_LAUNCHED();
    });
  }
  template <int P>
  void again() const {
    const int64_t tiles = (call.n + kTile - 1) / kTile;
    const int64_t parts =
        std::clamp<int64_t>(2 * multiprocessors() / tiles, 1, (call.rows + kTile - 1) / kTile);
    if (dgamma || dbeta) {
      const dim3 blocks(static_cast<unsigned>(tiles), static_cast<unsigned>(parts));
      with_sums(blocks.y, [&](const Call<T>& c) {
        sums_again<kRms, T><<<blocks, dim3(kTile, kTile), 0, stream>>>(c);
        ARGOSY_CUDA_LAUNCHED();
      });
    }
    // Last, since dx may be x or dy.
    const unsigned threads = call.n <= 1024 ? 128 : 512;
    dx_again<kRms, T, P><<<team_blocks(call.rows, false), threads, 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  }

  // f(call) with room for the sums of `parts` blocks, which are then added up.
  template <class F>
  void with_sums(unsigned parts, F&& f) const {
    const int64_t each = static_cast<int64_t>(parts) * call.n;
    const Scratch sums(stream, static_cast<size_t>(2 * each) * sizeof(C));
    Call<T> c = call;
    if (dgamma) c.of_gamma = sums.data<C>();
    if (dbeta) c.of_beta = sums.data<C>() + each;
    f(c);
    if (!dgamma && !dbeta) return;
    if (narrow)
      give<T>(c, parts);
    else
      give<C>(c, parts);
  }
  template <class W>
  void give(const Call<T>& c, unsigned parts) const {
    const dim3 blocks(static_cast<unsigned>((call.n + kTile - 1) / kTile), 2),
        threads(kTile, kTile);
    add_up<C, W><<<blocks, threads, 0, stream>>>(c.of_gamma, c.of_beta, parts, call.n,
                                                 static_cast<W*>(dgamma), static_cast<W*>(dbeta));
    ARGOSY_CUDA_LAUNCHED();
  }
};

template <bool kRms, class T>
void backward(const Backward<kRms, T>& b, bool packed) {
  constexpr int P = kPack<T>;
  const int64_t n = b.call.n;
  if constexpr (sizeof(T) <= 4) {
    if (packed) {
      if (n <= 256) return b.template held<P, 8 / P, true>();
      if (n <= 512) return b.template held<P, 16 / P, true>();
      if (n <= 8 * kPipedThreads) return b.template piped<P, 8 / P>();
      if constexpr (sizeof(T) == 2)
        if (n <= 16 * kPipedThreads) return b.template piped<P, 16 / P>();
      if (n <= 8 * kMostThreads) return b.template held<P, 8 / P, false>();
      if (n <= 16 * kMostThreads) return b.template held<P, 16 / P, false>();
      return b.template again<P>();
    }
    if (n <= 256) return b.template held<1, 8, true>();
    if (n <= 8 * kMostThreads) return b.template held<1, 8, false>();
  }
  b.template again<1>();
}

}  // namespace

void layer_norm_grad(cudaStream_t stream, const RowNorm& a, const void* x, const void* gamma,
                     const void* mean, const void* rstd, const void* dy, void* dx, void* dgamma,
                     void* dbeta) {
  if (a.rows * a.n == 0) return;
  with_floating("layer_norm_grad", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const bool narrow = a.weight_dtype == a.dtype;
    const Call<T> call{static_cast<const T*>(x),
                       static_cast<const T*>(dy),
                       static_cast<T*>(dx),
                       static_cast<const C*>(mean),
                       static_cast<const C*>(rstd),
                       {gamma, narrow},
                       a.rows,
                       a.n,
                       nullptr,
                       nullptr};
    const bool packed =
        a.n % kPack<T> == 0 && aligned(x) && aligned(dy) && aligned(dx) && aligned(gamma);
    if (a.rms)
      backward(Backward<true, T>{stream, call, narrow, dgamma, dbeta}, packed);
    else
      backward(Backward<false, T>{stream, call, narrow, dgamma, dbeta}, packed);
  });
}

}  // namespace argosy::cuda
