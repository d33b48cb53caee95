#pragma once

#include "argosy/kernels/cuda/functors.cuh"

// Of cast.cu.
namespace argosy::cuda {

template <class To, class From>
__device__ __forceinline__ To converted(From v) {
  if constexpr (is_complex_v<From> && is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v.re), static_cast<T>(v.im)};
  } else if constexpr (is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v), T(0)};
  } else if constexpr (is_complex_v<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return v.re != 0 || v.im != 0;
    else
      return converted<To>(v.re);
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      constexpr From kHalf = 9223372036854775808.0;
      return v >= kHalf
                 ? static_cast<uint64_t>(static_cast<int64_t>(v - kHalf)) ^ (uint64_t{1} << 63)
                 : static_cast<uint64_t>(static_cast<int64_t>(v));
    } else if constexpr (std::is_same_v<To, uint32_t> || sizeof(To) == 8) {
      return static_cast<To>(static_cast<int64_t>(v));
    } else {
      return static_cast<To>(static_cast<int32_t>(v));
    }
  } else {
    return static_cast<To>(v);
  }
}

template <class To>
struct CastOp {
  static constexpr Weight kWeight = Weight::light;
  static constexpr bool kMoves = true;
  template <class From>
  __device__ __forceinline__ Computed<To> operator()(From v) const {
    return converted<Computed<To>>(v);
  }
};

}  // namespace argosy::cuda
