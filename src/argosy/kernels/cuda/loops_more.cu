#include "argosy/kernels/cuda/loops_more.h"

#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_more.cuh"
#include "argosy/kernels/cuda/special.cuh"

namespace argosy::cuda {
namespace {

struct RoundPlacesOp {
  static constexpr Weight kWeight = Weight::heavy;
  using Number = double;
  template <class T>
  __device__ __forceinline__ double operator()(T x, const Numbers<double>& p) const {
    const double v = x;
    if (p.b != 0) return rint(v * p.a) / p.a;
    return rint(v / p.a) * p.a;
  }
};
struct PolygammaOp {
  static constexpr Weight kWeight = Weight::heavy;
  using Number = double;
  template <class T>
  __device__ __forceinline__ double operator()(T x, const Numbers<double>& p) const {
    return polygamma(static_cast<int>(p.a), static_cast<double>(x));
  }
};
template <bool lower>
struct GammaOp {
  static constexpr Weight kWeight = Weight::heavy;
  template <class T>
  __device__ __forceinline__ double operator()(T a, T x) const {
    return gamma_part(lower, static_cast<double>(a), static_cast<double>(x));
  }
};
struct JoinOp {
  static constexpr Weight kWeight = Weight::light;
  template <class T>
  __device__ __forceinline__ Complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};
template <class T>
__device__ __forceinline__ T bounded_log(T x) {
  const T v = log(x);
  return v < T(-100) ? T(-100) : v;
}
ARGOSY_CUDA_OP(ProbabilityLossOp, heavy, T p, T y) {
  return (y - 1) * bounded_log(1 - p) - y * bounded_log(p);
}
ARGOSY_CUDA_END
struct FlooredOp {
  static constexpr Weight kWeight = Weight::light;
  using Number = double;
  template <class T>
  __device__ __forceinline__ T operator()(T v, const Numbers<double>& p) const {
    if (v < T(0)) return T(NAN);
    return static_cast<double>(v) < p.a ? static_cast<T>(p.a) : v;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) split(const T* x, T* mantissa, T* exponent, int64_t n) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) {
    const T v = x[i];
    int e = 0;
    const T m = is_finite(v) ? ::frexp(v, &e) : v;
    mantissa[i] = m;
    exponent[i] = static_cast<T>(e);
  }
}

}  // namespace

bool nan_to_num_loop(cudaStream_t s, const LoopCall& c) {
  return unary<NanToNumOp>(s, c, Floats{});
}
bool zero_nan_loop(cudaStream_t s, const LoopCall& c) {
  return unary<ZeroNanOp>(s, c, Floats{}) || unary<ZeroNanOp>(s, c, Complexes{});
}
bool signbit_loop(cudaStream_t s, const LoopCall& c) {
  return unary<SignbitOp, bool>(s, c, Floats{}) || unary<SignbitOp, bool>(s, c, Integers{});
}
bool round_places_loop(cudaStream_t s, const LoopCall& c) {
  return unary<RoundPlacesOp>(s, c, Floats{});
}
bool polygamma_loop(cudaStream_t s, const LoopCall& c) {
  return unary<PolygammaOp>(s, c, Floats{});
}
bool gammainc_loop(cudaStream_t s, const LoopCall& c) {
  return binary<GammaOp<true>>(s, c, Floats{});
}
bool gammaincc_loop(cudaStream_t s, const LoopCall& c) {
  return binary<GammaOp<false>>(s, c, Floats{});
}
bool complex_loop(cudaStream_t s, const LoopCall& c) {
  return binary<JoinOp, c64>(s, c, Types<float>{}) || binary<JoinOp, c128>(s, c, Types<double>{});
}
bool logits_loss_loop(cudaStream_t s, const LoopCall& c) {
  return binary<LogitsLossOp>(s, c, Floats{});
}
bool probability_loss_loop(cudaStream_t s, const LoopCall& c) {
  return binary<ProbabilityLossOp>(s, c, Floats{});
}
bool floored_loop(cudaStream_t s, const LoopCall& c) {
  return unary<FlooredOp>(s, c, Floats{});
}

void frexp(cudaStream_t stream, DType dtype, const void* x, void* mantissa, void* exponent,
           int64_t n) {
  if (n == 0) return;
  const auto run = [&]<class T>(Type<T>) {
    split<T><<<grid(n, kThreads), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(mantissa), static_cast<T*>(exponent), n);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (dtype == DType::float32)
    run(Type<float>{});
  else if (dtype == DType::float64)
    run(Type<double>{});
  else
    fail_dtype("frexp", dtype);
}

}  // namespace argosy::cuda
