#pragma once

#include <cstdint>

#include "argosy/kernels/cuda/places.cuh"
#include "argosy/kernels/cuda/pool.h"

// Which inputs a window of a pool has, and which windows an input is in.
namespace argosy::cuda {

struct Span {
  int64_t begin, end;
  __device__ __forceinline__ int64_t size() const { return end - begin; }
};

// The input of window o along d, padding left out.
__device__ __forceinline__ Span window(const PoolShape& s, int d, int64_t o) {
  if (s.adaptive) return {o * s.in[d] / s.out[d], ((o + 1) * s.in[d] + s.out[d] - 1) / s.out[d]};
  const int64_t begin = o * s.stride[d] - s.pad[d];
  Span w{begin > 0 ? begin : 0, begin + s.kernel[d] < s.in[d] ? begin + s.kernel[d] : s.in[d]};
  if (w.end < w.begin) w.end = w.begin;
  return w;
}

// What window o counts along d in an average.
__device__ __forceinline__ int64_t counted(const PoolShape& s, const PoolDivisor& by, int d,
                                           int64_t o) {
  if (s.adaptive || by.exclusive) return window(s, d, o).size();
  const int64_t begin = o * s.stride[d] - s.pad[d], most = s.in[d] + s.pad[d];
  return (begin + s.kernel[d] < most ? begin + s.kernel[d] : most) - begin;
}

// The windows along d that have the input at place i.
__device__ __forceinline__ Span windows_of(const PoolShape& s, int d, int64_t i) {
  Span w;
  if (s.adaptive) {
    w.begin = i * s.out[d] / s.in[d];
    w.end = ((i + 1) * s.out[d] + s.in[d] - 1) / s.in[d];
  } else {
    const int64_t t = i + s.pad[d], before = t - s.kernel[d];
    w.begin = before < 0 ? 0 : before / s.stride[d] + 1;
    w.end = t / s.stride[d] + 1;
  }
  if (w.end > s.out[d]) w.end = s.out[d];
  return w;
}

__device__ __forceinline__ Places inputs_of(const PoolShape& s) {
  return {true, s.lanes, {s.in[0], s.in[1], s.in[2]}};
}
__device__ __forceinline__ Places outputs_of(const PoolShape& s) {
  return {true, s.lanes, {s.out[0], s.out[1], s.out[2]}};
}

template <class T>
__device__ __forceinline__ T divisor(const PoolDivisor& by, int64_t count) {
  return static_cast<T>(by.fixed ? by.fixed : count > 1 ? count : 1);
}

}  // namespace argosy::cuda
