#pragma once

#include "argosy/kernels/cuda/chain_args.h"
#include "argosy/kernels/cuda/element.cuh"
#include "argosy/kernels/cuda/functors.cuh"

// What the text of a fused chain (chain_text.cc) stands on. NVRTC alone compiles it.
namespace argosy::cuda {

// Where a pack begins in operands of each form.
template <int forms>
struct ChainPlace {
  int64_t of[forms];
};
template <int rank, int forms>
__device__ __forceinline__ ChainPlace<forms> chain_place(const ChainArgs& c, uint32_t item) {
  ChainPlace<forms> place;
#pragma unroll
  for (int k = 0; k < forms; ++k) place.of[k] = 0;
#pragma unroll
  for (int d = rank - 1; d > 0; --d) {
    const uint32_t q = c.size[d].quotient(item), r = item - q * c.size[d].d;
#pragma unroll
    for (int k = 0; k < forms; ++k) place.of[k] += r * c.strides[d][k];
    item = q;
  }
#pragma unroll
  for (int k = 0; k < forms; ++k) place.of[k] += item * c.strides[0][k];
  return place;
}

template <class T, int n>
__device__ __forceinline__ Pack<T, n> pack_of(const void* data, int64_t at) {
  return *reinterpret_cast<const Pack<T, n>*>(static_cast<const T*>(data) + at);
}
// One element is the whole pack.
template <class T, int n>
__device__ __forceinline__ Pack<T, n> repeated(const void* data, int64_t at) {
  const T one = static_cast<const T*>(data)[at];
  Pack<T, n> all;
#pragma unroll
  for (int j = 0; j < n; ++j) all.at[j] = one;
  return all;
}
template <class T, int n>
__device__ __forceinline__ void put(void* data, int64_t at, const Pack<T, n>& pack) {
  *reinterpret_cast<Pack<T, n>*>(static_cast<T*>(data) + at) = pack;
}

// What a step computed, rounded as if it had been stored as R and loaded again.
template <class R>
__device__ __forceinline__ Computed<R> rounded(Computed<R> v) {
  if constexpr (std::is_same_v<R, bf16_t>) {
    uint32_t bits;  // the other half is 0: the bits of a float
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(v), "f"(0.0f));
    return __uint_as_float(bits);
  } else {
    return load<R>(store<R>(v));
  }
}
template <class Op, class R, class N, class... A>
__device__ __forceinline__ Computed<R> stepped(const N& p, A... a) {
  if constexpr (std::is_invocable_v<Op, A..., const N&>)
    return rounded<R>(static_cast<Computed<R>>(Op{}(a..., p)));
  else
    return rounded<R>(static_cast<Computed<R>>(Op{}(a...)));
}
// The same bits, of which the compiler knows nothing: else it would join a product of one step and
// a sum of the next, and round them once.
template <class R>
__device__ __forceinline__ Computed<R> apart(const ChainArgs& c, Computed<R> v) {
  if constexpr (std::is_same_v<R, float>)
    return __uint_as_float(__float_as_uint(v) ^ c.zero);
  else if constexpr (std::is_same_v<R, double>)
    return __longlong_as_double(__double_as_longlong(v) ^ static_cast<int64_t>(c.zero));
  else
    return v;
}
// A value of stored type From, as the next step reads the memory that it would have been in.
template <class To, class From>
__device__ __forceinline__ Computed<To> read_as(Computed<From> v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else {
    static_assert(sizeof(To) == sizeof(From));
    const From stored = store<From>(v);
    To seen;
    memcpy(&seen, &stored, sizeof(To));
    return load<To>(seen);
  }
}
template <class S, int k>
__device__ __forceinline__ const Numbers<S>& numbers(const ChainArgs& c) {
  return reinterpret_cast<const Numbers<S>&>(c.numbers[k]);
}

// Chain::In<n>: a pack of what is read; Chain::fetch<n>(c, place, in) loads it, Chain::finish<n>(c,
// place, in) computes and stores.
template <class Chain, int n, int flight, int rank, int forms, bool rest>
__device__ __forceinline__ void run_chain(const ChainArgs& c) {
  const uint32_t step = gridDim.x * kChainThreads;
  const uint32_t first = blockIdx.x * kChainThreads + threadIdx.x;
  for (uint32_t i = first; i < c.items; i += flight * step) {
    typename Chain::template In<n> in[flight];
    ChainPlace<forms> place[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (u && i + u * step >= c.items) continue;
      place[u] = chain_place<rank, forms>(c, i + u * step);
      Chain::template fetch<n>(c, place[u], in[u]);
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (u && i + u * step >= c.items) continue;
      Chain::template finish<n>(c, place[u], in[u]);
    }
  }
  if constexpr (rest) {
    if (first >= c.rest) return;
    ChainPlace<forms> place = chain_place<rank, forms>(c, c.items);
#pragma unroll
    for (int k = 0; k < forms; ++k) place.of[k] += c.strides[0][k] ? first : 0;
    typename Chain::template In<1> in;
    Chain::template fetch<1>(c, place, in);
    Chain::template finish<1>(c, place, in);
  }
}

}  // namespace argosy::cuda
