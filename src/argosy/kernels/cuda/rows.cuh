#pragma once

#include <algorithm>

#include "argosy/kernels/cuda/common.cuh"

// Rows of contiguous elements, each of which a team of threads works on: a warp, or a block.
namespace argosy::cuda {

inline constexpr int kWarpsOfBlock = 4;  // where teams are warps
// Threads of a block at most, for __launch_bounds__.
constexpr int team_bound(bool warps, int block) {
  return warps ? kWarpsOfBlock * kWarp : block;
}

template <bool kWarps>
struct Team {
  static __device__ __forceinline__ int rank() {
    return kWarps ? static_cast<int>(threadIdx.x) % kWarp : static_cast<int>(threadIdx.x);
  }
  static __device__ __forceinline__ int size() {
    return kWarps ? kWarp : static_cast<int>(blockDim.x);
  }
  // The team's first row, and from one to its next.
  static __device__ __forceinline__ int64_t first() {
    return kWarps ? static_cast<int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kWarp
                  : blockIdx.x;
  }
  static __device__ __forceinline__ int64_t step() {
    return static_cast<int64_t>(gridDim.x) * (kWarps ? kWarpsOfBlock : 1);
  }
  // Every thread of the team gets the result.
  template <class T, class F>
  static __device__ __forceinline__ T reduce(T v, T identity, F f) {
    if constexpr (kWarps) {
      return warp_reduce(v, f);
    } else {
      __shared__ T shared[kWarp];
      return block_reduce(v, identity, f, shared);
    }
  }
};

// Blocks for rows of teams; kernels go over rows in a loop all the same.
inline unsigned team_blocks(int64_t rows, bool warps) {
  const int64_t per = warps ? kWarpsOfBlock : 1;
  return static_cast<unsigned>(std::min<int64_t>((rows + per - 1) / per, 1 << 30));
}
inline unsigned team_threads(int64_t n, int held, bool warps) {
  if (warps) return kWarpsOfBlock * kWarp;
  return static_cast<unsigned>(((n + held - 1) / held + kWarp - 1) / kWarp * kWarp);
}

// Where the team's thread has its k-th pack of P elements.
template <class Team, int P>
__device__ __forceinline__ int place_of(int k) {
  return (Team::rank() + k * Team::size()) * P;
}

// K packs of P elements of a row, n a multiple of P; beyond n nothing is touched.
template <class Team, int P, int K, class T>
__device__ __forceinline__ void load_packs(const T* row, int n, Pack<T, P> (&raw)[K]) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int at = place_of<Team, P>(k);
    if (at < n) raw[k] = *reinterpret_cast<const Pack<T, P>*>(row + at);
  }
}
// As numbers, `fill` beyond n.
template <class Team, int P, int K, class T>
__device__ __forceinline__ void load_row(const T* row, int n, T fill, Computed<T> (&v)[K * P]) {
  Pack<T, P> raw[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int i = 0; i < P; ++i) raw[k].at[i] = fill;
  }
  load_packs<Team, P, K>(row, n, raw);
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int i = 0; i < P; ++i) v[k * P + i] = load(raw[k].at[i]);
  }
}

// What the warps of a block know each, given to all of its threads. Calls alternate between two
// rooms, so that one barrier for each is enough.
template <class S>
struct Shared {
  S* room;  // 2 * kWarp items
  int turn = 0;

  // Afterwards all[w] is what the lanes of warp w gave.
  __device__ __forceinline__ const S* give(const S& mine) {
    S* all = room + turn * kWarp;
    turn ^= 1;
    if (threadIdx.x % kWarp == 0) all[threadIdx.x / kWarp] = mine;
    __syncthreads();
    return all;
  }
};

// to[i] = f(from[i], i) for a row of n, a multiple of P; some loads are under way at once. `to` may
// be `from`.
template <class Team, int P, class T, class F>
__device__ __forceinline__ void map_row(const T* from, T* to, int64_t n, F&& f) {
  constexpr int kAtOnce = 4;
  const int64_t step = static_cast<int64_t>(Team::size()) * P;
  for (int64_t begin = Team::rank() * P; begin < n; begin += kAtOnce * step) {
    Pack<T, P> raw[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (begin + k * step < n)
        raw[k] = *reinterpret_cast<const Pack<T, P>*>(from + begin + k * step);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t at = begin + k * step;
      if (at >= n) break;
#pragma unroll
      for (int i = 0; i < P; ++i) raw[k].at[i] = f(raw[k].at[i], at + i);
      *reinterpret_cast<Pack<T, P>*>(to + at) = raw[k];
    }
  }
}

// f.held<P, K, warps>(): how a row of n is held in registers, P elements an access and K of these a
// thread (F::kHeld elements in blocks, where rows are not very long); f.again<P>(warps) where it
// is read again instead. `packed`: rows are whole packs.
template <class T, class F>
void with_team(int64_t n, bool packed, F&& f) {
  constexpr int P = kPack<T>;
  if constexpr (sizeof(T) <= 4) {
    if (packed) {
      if (n <= 256) return f.template held<P, 8 / P, true>();
      if (n <= 512) return f.template held<P, 16 / P, true>();
      if (n <= 1024) return f.template held<P, 32 / P, true>();
      if (n <= 4096) return f.template held<P, std::remove_cvref_t<F>::kHeld / P, false>();
      if (n <= 16384) return f.template held<P, 32 / P, false>();
      return f.template again<P>(false);
    }
    if (n <= 32) return f.template held<1, 1, true>();
    if (n <= 256) return f.template held<1, 8, true>();
    if (n <= 1024) return f.template held<1, 32, true>();
  }
  f.template again<1>(n <= 1024);
}

// NaN loses: it is found where the exponentials are summed.
struct Most {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ __forceinline__ double operator()(double a, double b) const { return fmax(a, b); }
};

// exp and log as accurate as the stored type asks for.
template <class T>
__device__ __forceinline__ Computed<T> exp_for(Computed<T> v) {
  if constexpr (sizeof(T) == 8)
    return exp(v);
  else if constexpr (sizeof(T) == 4)
    return expf(v);
  else
    return __expf(v);
}
// exp(v - shift). Of 16-bit T in three instructions; what is too small for a float is 0.
template <class T>
__device__ __forceinline__ Computed<T> exp_apart(Computed<T> v, Computed<T> shift) {
  if constexpr (sizeof(T) == 2) {
    constexpr float kLog2e = 1.4426950408889634f;
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"((v - shift) * kLog2e));
    return power;
  } else {
    return exp_for<T>(v - shift);
  }
}
__device__ __forceinline__ float log_of(float v) {
  return logf(v);
}
__device__ __forceinline__ double log_of(double v) {
  return log(v);
}
template <class C>
__device__ __forceinline__ C minus_infinity() {
  return static_cast<C>(-INFINITY);
}

// The greatest of some numbers, and the sum of exp(v - greatest).
template <class T>
struct ExpSum {
  using C = Computed<T>;
  C high = minus_infinity<C>(), sum = 0;

  // -inf alone must not give NaN before greater numbers are seen.
  static __device__ __forceinline__ C shift_of(C high) {
    return high == minus_infinity<C>() ? C(0) : high;
  }
  template <int P>
  __device__ __forceinline__ void add(const C (&v)[P]) {
    C most = high;
#pragma unroll
    for (int i = 0; i < P; ++i) most = Most()(most, v[i]);
    const C shift = shift_of(most);
    C now = sum * exp_for<T>(high - shift);
#pragma unroll
    for (int i = 0; i < P; ++i) now += exp_apart<T>(v[i], shift);
    high = most;
    sum = now;
  }
  template <class Team>
  __device__ __forceinline__ void combine() {
    const C most = Team::reduce(high, minus_infinity<C>(), Most());
    sum = Team::reduce(sum * exp_for<T>(high - shift_of(most)), C(0), Sum());
    high = most;
  }
};

}  // namespace argosy::cuda
