#pragma once

#include "argosy/kernels/cuda/rows.cuh"

namespace argosy::cuda {

// Weights of rows of T: of T itself, or float beside 16-bit T.
struct Weights {
  const void* data;  // may be null
  bool narrow;       // of T
};

// Elements at..at + P; `missing` where there are no weights. Addresses are whole packs.
template <class T, int P>
__device__ __forceinline__ void load_weights(Weights w, int64_t at, Computed<T> missing,
                                             Computed<T> (&v)[P]) {
  if (!w.data) {
#pragma unroll
    for (int i = 0; i < P; ++i) v[i] = missing;
    return;
  }
  if (sizeof(T) > 2 || w.narrow) {
    const auto raw = *reinterpret_cast<const Pack<T, P>*>(static_cast<const T*>(w.data) + at);
#pragma unroll
    for (int i = 0; i < P; ++i) v[i] = load(raw.at[i]);
    return;
  }
  if constexpr (sizeof(T) == 2) {
    constexpr int kEach = P < 4 ? P : 4;
#pragma unroll
    for (int part = 0; part < P; part += kEach) {
      const auto raw = *reinterpret_cast<const Pack<float, kEach>*>(
          static_cast<const float*>(w.data) + at + part);
#pragma unroll
      for (int i = 0; i < kEach; ++i) v[part + i] = raw.at[i];
    }
  }
}

__device__ __forceinline__ float rsqrt_of(float v) {
  return rsqrtf(v);
}
__device__ __forceinline__ double rsqrt_of(double v) {
  return 1 / sqrt(v);
}

// How many numbers there were, their mean and the sum of squares of what they differ from it.
template <class C>
struct Moments {
  C count = 0, mean = 0, squares = 0;

  // Chan, Golub and LeVeque 1979.
  __device__ __forceinline__ void add(C other_count, C other_mean, C other_squares) {
    const C total = count + other_count;
    if (total == 0) return;
    const C share = other_count / total, apart = other_mean - mean;
    mean += apart * share;
    squares += other_squares + apart * apart * count * share;
    count = total;
  }
  __device__ __forceinline__ void add(const Moments& other) {
    add(other.count, other.mean, other.squares);
  }
  template <int P>
  __device__ __forceinline__ void add(const C (&v)[P]) {
    C middle = 0, apart = 0;
#pragma unroll
    for (int i = 0; i < P; ++i) middle += v[i];
    middle *= C(1) / P;
#pragma unroll
    for (int i = 0; i < P; ++i) apart += (v[i] - middle) * (v[i] - middle);
    add(C(P), middle, apart);
  }
  // Over a team that has `n` numbers together; squares as well as mean are then those of all.
  template <class Team>
  __device__ __forceinline__ void combine(C n) {
    const C of_all = Team::reduce(count * mean, C(0), Sum()) / n;
    const C apart = mean - of_all;
    squares = Team::reduce(squares + count * apart * apart, C(0), Sum());
    mean = of_all;
    count = n;
  }
};

}  // namespace argosy::cuda
