#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/math.cuh"
#include "argosy/kernels/cuda/special.cuh"

// Special functions of ARGOSY_MATH_LOOPS. Like the CPU's they compute in double for every dtype.
namespace argosy::cuda {
namespace {

// clang-format off
ARGOSY_CUDA_OP(ErfcOp, heavy, T x) { return erfc(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(ErfinvOp, heavy, T x) { return erfinv(x); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(LgammaOp, heavy, T x) { return lgamma(static_cast<double>(x)); } ARGOSY_CUDA_END
ARGOSY_CUDA_OP(DigammaOp, heavy, T x) { return digamma(static_cast<double>(x)); } ARGOSY_CUDA_END
template <int order, bool scaled>
ARGOSY_CUDA_OP(BesselOp, heavy, T x) {
  const double d = static_cast<double>(x), v = bessel_scaled(order, d);
  if (scaled) return v;
  return !isinf(d) ? v * exp(fabs(d)) : order ? d : d * d;
}
ARGOSY_CUDA_END
// clang-format on

}  // namespace

#define ARGOSY_FLOATS1(name, ...)                       \
  bool name##_loop(cudaStream_t s, const LoopCall& c) { \
    return unary<__VA_ARGS__>(s, c, Floats{});          \
  }
ARGOSY_FLOATS1(erfc, ErfcOp)
ARGOSY_FLOATS1(erfinv, ErfinvOp)
ARGOSY_FLOATS1(lgamma, LgammaOp)
ARGOSY_FLOATS1(digamma, DigammaOp)
ARGOSY_FLOATS1(i0, BesselOp<0, false>)
ARGOSY_FLOATS1(i0e, BesselOp<0, true>)
ARGOSY_FLOATS1(i1, BesselOp<1, false>)
ARGOSY_FLOATS1(i1e, BesselOp<1, true>)

}  // namespace argosy::cuda
