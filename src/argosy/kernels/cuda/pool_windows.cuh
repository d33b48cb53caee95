#pragma once

#include "argosy/kernels/cuda/geometry.cuh"
#include "argosy/kernels/cuda/pool.h"

// Which inputs a window of a pool has, and which windows an input is in.
namespace argosy::cuda {

template <class I>
struct Span {
  I begin, end;
  __device__ __forceinline__ I size() const { return end - begin; }
};

template <class I>
struct Windows {
  Lattice<I> in, out;
  I kernel[3], stride[3], pad[3];
  Splitter<I> by_stride[3];
  bool adaptive;

  explicit Windows(const PoolShape& s)
      : in(s.in, s.lanes), out(s.out, s.lanes), adaptive(s.adaptive) {
    for (int d = 0; d < 3; ++d) {
      kernel[d] = static_cast<I>(s.kernel[d]);
      stride[d] = static_cast<I>(s.stride[d]);
      pad[d] = static_cast<I>(s.pad[d]);
      by_stride[d] = Splitter<I>(s.stride[d]);
    }
  }

  // The input of window o along d, padding left out.
  __device__ __forceinline__ Span<I> window(int d, I o) const {
    if (adaptive)
      return {o * in.size[d] / out.size[d], ((o + 1) * in.size[d] + out.size[d] - 1) / out.size[d]};
    const I begin = o * stride[d] - pad[d];
    Span<I> w{begin > 0 ? begin : 0,
              begin + kernel[d] < in.size[d] ? begin + kernel[d] : in.size[d]};
    if (w.end < w.begin) w.end = w.begin;
    return w;
  }

  // What window o counts along d in an average.
  __device__ __forceinline__ I counted(const PoolDivisor& by, int d, I o) const {
    if (adaptive || by.exclusive) return window(d, o).size();
    const I begin = o * stride[d] - pad[d], most = in.size[d] + pad[d];
    return (begin + kernel[d] < most ? begin + kernel[d] : most) - begin;
  }

  // The windows along d that have the input at place i.
  __device__ __forceinline__ Span<I> windows_of(int d, I i) const {
    Span<I> w;
    if (adaptive) {
      w.begin = i * out.size[d] / in.size[d];
      w.end = ((i + 1) * out.size[d] + in.size[d] - 1) / in.size[d];
    } else {
      const I t = i + pad[d], before = t - kernel[d];
      I rest;
      w.begin = before < 0 ? 0 : by_stride[d](before, rest) + 1;
      w.end = by_stride[d](t, rest) + 1;
    }
    if (w.end > out.size[d]) w.end = out.size[d];
    return w;
  }
};

// The largest number that kernels of this shape work with.
inline int64_t most_of(const PoolShape& s) {
  int64_t most = std::max({s.x_size(), s.y_size(), s.kernel[0] * s.kernel[1] * s.kernel[2]});
  for (int d = 0; d < 3; ++d) {
    if (s.adaptive) most = std::max(most, (s.in[d] + 1) * (s.out[d] + 1));
    most = std::max({most, s.out[d] * s.stride[d] + s.kernel[d], s.in[d] + s.pad[d] + s.kernel[d]});
  }
  return most;
}

template <class T, class I>
__device__ __forceinline__ T divisor(const PoolDivisor& by, I count) {
  return static_cast<T>(by.fixed ? by.fixed : count > 1 ? count : 1);
}

}  // namespace argosy::cuda
