#pragma once

#include <algorithm>
#include <cstdint>

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/places.cuh"

// Places of images in 32 bits, which is what nearly all of them need, or in 64.
namespace argosy::cuda {

// n / d and the rest. A d of 0, of which there are no places, is as good as 1.
template <class I>
struct Splitter;
template <>
struct Splitter<int32_t> {
  Divider by;
  Splitter() = default;
  explicit Splitter(int64_t d) : by(static_cast<uint32_t>(d ? d : 1)) {}
  __device__ __forceinline__ int32_t operator()(int32_t n, int32_t& rest) const {
    const uint32_t q = by.quotient(static_cast<uint32_t>(n));
    rest = n - static_cast<int32_t>(q * by.d);
    return static_cast<int32_t>(q);
  }
};
template <>
struct Splitter<int64_t> {
  int64_t by = 1;
  Splitter() = default;
  explicit Splitter(int64_t d) : by(d ? d : 1) {}
  __device__ __forceinline__ int64_t operator()(int64_t n, int64_t& rest) const {
    return divide(n, by, rest);
  }
};

template <class I>
struct PlaceOf {
  I part, z, r, q, lane;
};

// Elements of [parts, three sizes, lanes].
template <class I>
struct Lattice {
  I size[3], lanes;
  Splitter<I> by[3], by_lanes;

  Lattice(const int64_t* sizes, int64_t lane_count)
      : lanes(static_cast<I>(lane_count)), by_lanes(lane_count) {
    for (int d = 0; d < 3; ++d) {
      size[d] = static_cast<I>(sizes[d]);
      by[d] = Splitter<I>(sizes[d]);
    }
  }
  __device__ __forceinline__ PlaceOf<I> place(I i) const {
    PlaceOf<I> p;
    p.lane = 0;
    if (lanes != 1) i = by_lanes(i, p.lane);
    i = by[2](i, p.q);
    i = by[1](i, p.r);
    p.z = 0;
    p.part = size[0] != 1 ? by[0](i, p.z) : i;
    return p;
  }
  __device__ __forceinline__ I offset(I part, I z, I r, I q, I lane) const {
    return (((part * size[0] + z) * size[1] + r) * size[2] + q) * lanes + lane;
  }
};

// f(an index type that holds numbers up to `most`, and a grid's stride more).
template <class F>
void with_index_of(int64_t most, F&& f) {
  if (most < (int64_t{1} << 30))
    f(Type<int32_t>{});
  else
    f(Type<int64_t>{});
}

}  // namespace argosy::cuda
