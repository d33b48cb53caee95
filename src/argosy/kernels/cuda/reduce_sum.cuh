#pragma once

#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"

// Sums, means and products: they differ in how two are combined.
namespace argosy::cuda {

template <class T>
struct SumAccOf {
  using type = std::conditional_t<std::is_integral_v<T>, uint64_t, Computed<T>>;
};
template <class T>
using SumAcc = typename SumAccOf<T>::type;

template <class A>
__device__ __forceinline__ A plus(A a, A b) {
  if constexpr (is_complex_v<A>)
    return {a.re + b.re, a.im + b.im};
  else
    return a + b;
}
template <class A>
__device__ __forceinline__ A times(A a, A b) {
  if constexpr (is_complex_v<A>)
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  else
    return a * b;
}

template <class T, bool product>
struct SumOp {
  using Acc = SumAcc<T>;
  static constexpr bool kShift = false, kWide = !product && !std::is_integral_v<T>;
  void* y;
  DType y_dtype;
  double divisor;
  uint64_t sign;  // the highest bit of signed integers, which come as unsigned ones

  __device__ Acc identity() const {
    constexpr int v = product ? 1 : 0;
    if constexpr (is_complex_v<Acc>)
      return {v, 0};
    else
      return static_cast<Acc>(v);
  }
  __device__ Acc combine(Acc a, Acc b) const {
    if constexpr (product)
      return times(a, b);
    else
      return plus(a, b);
  }
  __device__ Acc add(Acc a, T v, int64_t, double) const {
    if constexpr (std::is_integral_v<T>)
      return combine(a, (static_cast<uint64_t>(v) ^ sign) - sign);
    else
      return combine(a, static_cast<Acc>(load(v)));
  }
  __device__ void store(int64_t at, Acc a) const {
    if constexpr (is_complex_v<Acc>) {
      using Part = decltype(a.re);
      static_cast<Acc*>(y)[at] = {static_cast<Part>(static_cast<double>(a.re) / divisor),
                                  static_cast<Part>(static_cast<double>(a.im) / divisor)};
    } else if constexpr (std::is_integral_v<Acc>) {
      put_integer(y, y_dtype, at, static_cast<int64_t>(a));
    } else {
      put_real(y, y_dtype, at, static_cast<double>(a) / divisor);
    }
  }
};

template <bool product>
void reduce_sum_of(cudaStream_t stream, const View& x, uint32_t axes, void* y, DType y_dtype,
                   double divisor) {
  const bool is_signed = kSigned.has(x.dtype);
  const uint64_t sign = is_signed ? uint64_t{1} << (item_size(x.dtype) * 8 - 1) : 0;
  const auto run = [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, SumOp<T, product>{y, y_dtype, divisor, sign});
  };
  if (x.dtype == DType::complex64) return run(Type<c64>{});
  if (x.dtype == DType::complex128) return run(Type<c128>{});
  if (is_floating(x.dtype)) return with_floating("sum", x.dtype, run);
  with_unsigned(item_size(x.dtype), run);
}

}  // namespace argosy::cuda
