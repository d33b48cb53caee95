#include "argosy/kernels/cuda/loops_complex.h"

#include <thrust/complex.h>

#include "argosy/kernels/cuda/elementwise.cuh"

namespace argosy::cuda {
namespace {

template <class T>
using Number = thrust::complex<T>;
template <class T>
__device__ __forceinline__ Number<T> in_of(Complex<T> a) {
  return {a.re, a.im};
}
template <class T>
__device__ __forceinline__ Complex<T> out_of(const Number<T>& a) {
  return {a.real(), a.imag()};
}

// x: a thrust::complex<T>.
#define ARGOSY_COMPLEX_OP(name, Op, form)                                  \
  struct Op {                                                              \
    static constexpr Weight kWeight = Weight::heavy;                       \
    template <class T>                                                     \
    __device__ __forceinline__ Complex<T> operator()(Complex<T> a) const { \
      const Number<T> x = in_of(a);                                        \
      return out_of<T>(form);                                              \
    }                                                                      \
  };
#define ARGOSY_COMPLEX_FORMS(X)                               \
  X(sqrt, SqrtOp, thrust::sqrt(x))                            \
  X(rsqrt, RsqrtOp, T(1) / thrust::sqrt(x))                   \
  X(exp, ExpOp, thrust::exp(x))                               \
  X(expm1, Expm1Op, thrust::exp(x) - T(1))                    \
  X(log, LogOp, thrust::log(x))                               \
  X(log2, Log2Op, thrust::log(x) / T(0.69314718055994530942)) \
  X(log10, Log10Op, thrust::log10(x))                         \
  X(log1p, Log1pOp, thrust::log(T(1) + x))                    \
  X(sin, SinOp, thrust::sin(x))                               \
  X(cos, CosOp, thrust::cos(x))                               \
  X(tan, TanOp, thrust::tan(x))                               \
  X(asin, AsinOp, thrust::asin(x))                            \
  X(acos, AcosOp, thrust::acos(x))                            \
  X(atan, AtanOp, thrust::atan(x))                            \
  X(sinh, SinhOp, thrust::sinh(x))                            \
  X(cosh, CoshOp, thrust::cosh(x))                            \
  X(tanh, TanhOp, thrust::tanh(x))                            \
  X(asinh, AsinhOp, thrust::asinh(x))                         \
  X(acosh, AcoshOp, thrust::acosh(x))                         \
  X(atanh, AtanhOp, thrust::atanh(x))                         \
  X(sigmoid, SigmoidOp, T(1) / (T(1) + thrust::exp(-x)))      \
  X(conj, ConjOp, thrust::conj(x))
ARGOSY_COMPLEX_FORMS(ARGOSY_COMPLEX_OP)

// clang-format off
ARGOSY_CUDA_OP(RealOp, light, T a) { return a.re; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ImagOp, light, T a) { return a.im; } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(AngleOp, heavy, T a) { return atan2(a.im, a.re); } ARGOSY_CUDA_END
// clang-format on

struct PowOp {
  static constexpr Weight kWeight = Weight::heavy;
  template <class T>
  __device__ __forceinline__ Complex<T> operator()(Complex<T> a, Complex<T> b) const {
    // log(0) times a number is no number in parts.
    if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
    return out_of<T>(thrust::exp(in_of(b) * thrust::log(in_of(a))));
  }
};

}  // namespace

#define ARGOSY_COMPLEX_LOOP(name, Op, form)                       \
  bool complex_##name##_loop(cudaStream_t s, const LoopCall& c) { \
    return unary<Op>(s, c, Complexes{});                          \
  }
ARGOSY_COMPLEX_FORMS(ARGOSY_COMPLEX_LOOP)

bool complex_real_loop(cudaStream_t s, const LoopCall& c) {
  return unary<RealOp, Real>(s, c, Complexes{});
}
bool complex_imag_loop(cudaStream_t s, const LoopCall& c) {
  return unary<ImagOp, Real>(s, c, Complexes{});
}
bool complex_angle_loop(cudaStream_t s, const LoopCall& c) {
  return unary<AngleOp, Real>(s, c, Complexes{});
}
bool complex_pow_loop(cudaStream_t s, const LoopCall& c) {
  return binary<PowOp>(s, c, Complexes{});
}

}  // namespace argosy::cuda
