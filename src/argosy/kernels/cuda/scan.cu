#include "argosy/kernels/cuda/scan.cuh"

namespace argosy::cuda {
namespace {

template <class T>
struct SumAccumulator {
  using type = std::conditional_t<std::is_same_v<T, float>, double, Computed<T>>;
};
template <>
struct SumAccumulator<c64> {
  using type = c128;
};

// Sums and products; which of them is known when it runs. Integers come as unsigned ones.
template <class T>
struct RunningSum {
  using Acc = std::conditional_t<std::is_integral_v<T>,
                                 std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>,
                                 typename SumAccumulator<T>::type>;
  const T* x;
  T* y;
  bool product;

  __device__ Acc identity() const {
    if constexpr (is_complex_v<Acc>)
      return {product ? 1.0 : 0.0, 0.0};
    else
      return static_cast<Acc>(product ? 1 : 0);
  }
  __device__ Acc get(int64_t at, int64_t) const {
    if constexpr (is_complex_v<T>)
      return {static_cast<double>(x[at].re), static_cast<double>(x[at].im)};
    else
      return static_cast<Acc>(load(x[at]));
  }
  __device__ Acc combine(Acc a, Acc b) const {
    if constexpr (is_complex_v<Acc>) {
      if (product) return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
      return {a.re + b.re, a.im + b.im};
    } else {
      return product ? a * b : a + b;
    }
  }
  __device__ void put(int64_t at, Acc a) const {
    if constexpr (is_complex_v<T>) {
      using Part = decltype(T::re);
      y[at] = {static_cast<Part>(a.re), static_cast<Part>(a.im)};
    } else {
      y[at] = store<T>(static_cast<Computed<T>>(a));
    }
  }
};

// The sum so far is sum * exp(high).
struct Exponentials {
  double high, sum;
};

template <class T>
struct RunningExponentials {
  using Acc = Exponentials;
  const T* x;
  T* y;

  __device__ Acc identity() const { return {-__longlong_as_double(0x7ff0000000000000ll), 0}; }
  __device__ Acc get(int64_t at, int64_t) const { return {static_cast<double>(load(x[at])), 1}; }
  __device__ Acc combine(Acc a, Acc b) const {
    if (a.high == b.high) return {a.high, a.sum + b.sum};
    const bool b_leads = a.high < b.high || b.high != b.high;
    const Acc &lead = b_leads ? b : a, &rest = b_leads ? a : b;
    return {lead.high, lead.sum + rest.sum * exp(rest.high - lead.high)};
  }
  __device__ void put(int64_t at, Acc a) const {
    const double v = isinf(a.high) ? a.high : a.high + log(a.sum);
    y[at] = store<T>(static_cast<Computed<T>>(v));
  }
};

}  // namespace

void scan_sum(cudaStream_t stream, bool product, DType dtype, const void* x, void* y,
              const ScanShape& s, bool reverse) {
  const auto run = [&]<class T>(Type<T>) {
    scan_with(stream, s, reverse,
              RunningSum<T>{static_cast<const T*>(x), static_cast<T*>(y), product});
  };
  switch (dtype) {
    case DType::complex64:
      return run(Type<c64>{});
    case DType::complex128:
      return run(Type<c128>{});
    case DType::bool_:
    case DType::uint8:
    case DType::int8:
      return run(Type<uint8_t>{});
    case DType::uint16:
    case DType::int16:
      return run(Type<uint16_t>{});
    case DType::uint32:
    case DType::int32:
      return run(Type<uint32_t>{});
    case DType::uint64:
    case DType::int64:
      return run(Type<uint64_t>{});
    default:
      return with_floating("cumsum", dtype, run);
  }
}

void scan_logsumexp(cudaStream_t stream, DType dtype, const void* x, void* y, const ScanShape& s,
                    bool reverse) {
  with_floating("logcumsumexp", dtype, [&]<class T>(Type<T>) {
    scan_with(stream, s, reverse,
              RunningExponentials<T>{static_cast<const T*>(x), static_cast<T*>(y)});
  });
}

}  // namespace argosy::cuda
