#include "argosy/kernels/cuda/reduce.cuh"
#include "argosy/kernels/cuda/reduce.h"

// Norms, logarithms of sums of exponentials, variances; of floats.
namespace argosy::cuda {
namespace {

enum class Map : uint8_t { square, abs, power };

template <class T, Map map>
struct NormOp {
  using Acc = Computed<T>;
  static constexpr bool kShift = false, kWide = map == Map::square;
  T* y;
  NormKind kind;
  double p, count;

  __device__ bool extreme() const {
    return map == Map::abs && (kind == NormKind::most_abs || kind == NormKind::least_abs);
  }
  __device__ Acc identity() const {
    return extreme() && kind == NormKind::least_abs ? static_cast<Acc>(__int_as_float(0x7f800000))
                                                    : Acc(0);
  }
  __device__ Acc combine(Acc a, Acc b) const {
    if constexpr (map == Map::abs) {
      if (kind == NormKind::most_abs) return Max{}(a, b);
      if (kind == NormKind::least_abs) return Min{}(a, b);
    }
    return a + b;
  }
  __device__ Acc add(Acc a, T v, int64_t, double) const {
    const Acc x = load(v);
    if constexpr (map == Map::square)
      return a + x * x;
    else if constexpr (map == Map::abs)
      return combine(a, fabs(x));
    else
      return a + static_cast<Acc>(pow(static_cast<double>(fabs(x)), p));
  }
  __device__ void store(int64_t at, Acc a) const {
    double v = static_cast<double>(a);
    if (kind == NormKind::norm) v = sqrt(v);
    if (kind == NormKind::mean_squares) v /= count;
    if (map == Map::power) v = pow(v, 1 / p);
    y[at] = argosy::cuda::store<T>(static_cast<Acc>(v));
  }
};

// The sum so far is sum * exp(high).
template <class A>
struct Exponentials {
  A high, sum;
};

template <class T>
struct LogSumExpOp {
  using Value = Computed<T>;
  using Acc = Exponentials<Value>;
  static constexpr bool kShift = false, kWide = false;
  T* y;

  __device__ Acc identity() const { return {static_cast<Value>(-__int_as_float(0x7f800000)), 0}; }
  __device__ Acc combine(Acc a, Acc b) const {
    if (a.high == b.high) return {a.high, a.sum + b.sum};
    const bool b_leads = a.high < b.high || b.high != b.high;
    const Acc &lead = b_leads ? b : a, &rest = b_leads ? a : b;
    return {lead.high, lead.sum + rest.sum * exp(rest.high - lead.high)};
  }
  __device__ Acc add(Acc a, T v, int64_t, double) const { return combine(a, {load(v), 1}); }
  __device__ void store(int64_t at, Acc a) const {
    y[at] = argosy::cuda::store<T>(isinf(a.high) ? a.high : a.high + log(a.sum));
  }
};

// Sums of x - shift and of its square. The shift is an element, so that a mean that is large beside
// the spread costs no digits.
struct Moments {
  double sum, squares;
};

template <class T>
struct VarianceOp {
  using Acc = Moments;
  static constexpr bool kShift = true, kWide = std::is_same_v<T, float>;
  T* y;
  double count, divisor;

  __device__ Acc identity() const { return {0, 0}; }
  __device__ Acc combine(Acc a, Acc b) const { return {a.sum + b.sum, a.squares + b.squares}; }
  __device__ Acc add(Acc a, T v, int64_t, double shift) const {
    const double d = static_cast<double>(load(v)) - shift;
    return {a.sum + d, fma(d, d, a.squares)};
  }
  __device__ void store(int64_t at, Acc a) const {
    const double centered = count > 0 ? a.squares - a.sum / count * a.sum : 0;
    const double v = (centered < 0 ? 0 : centered) / divisor;
    y[at] = argosy::cuda::store<T>(static_cast<Computed<T>>(v));
  }
};

double count_of(const View& x, uint32_t axes) {
  double count = 1;
  for (int d = 0; d < x.rank; ++d)
    if (axes >> d & 1) count *= static_cast<double>(x.shape[d]);
  return count;
}

template <Map map>
void norm_of(cudaStream_t stream, NormKind kind, double p, const View& x, uint32_t axes, void* y) {
  with_floating("norm", x.dtype, [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, NormOp<T, map>{static_cast<T*>(y), kind, p, count_of(x, axes)});
  });
}

}  // namespace

void reduce_norm(cudaStream_t stream, NormKind kind, double p, const View& x, uint32_t axes,
                 void* y) {
  switch (kind) {
    case NormKind::sum_abs:
    case NormKind::most_abs:
    case NormKind::least_abs:
      return norm_of<Map::abs>(stream, kind, p, x, axes, y);
    case NormKind::power:
      return norm_of<Map::power>(stream, kind, p, x, axes, y);
    default:
      return norm_of<Map::square>(stream, kind, p, x, axes, y);
  }
}

void reduce_logsumexp(cudaStream_t stream, const View& x, uint32_t axes, void* y) {
  with_floating("logsumexp", x.dtype, [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, LogSumExpOp<T>{static_cast<T*>(y)});
  });
}

void reduce_variance(cudaStream_t stream, const View& x, uint32_t axes, double correction,
                     void* y) {
  const double count = count_of(x, axes), left = count - correction;
  with_floating("var", x.dtype, [&]<class T>(Type<T>) {
    reduce_with<T>(stream, x, axes, VarianceOp<T>{static_cast<T*>(y), count, left > 0 ? left : 0});
  });
}

}  // namespace argosy::cuda
