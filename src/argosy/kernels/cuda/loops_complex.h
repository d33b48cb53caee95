#pragma once

#include "argosy/kernels/cuda/loops.h"

// The part of loops that is about complex64 and complex128; false for other dtypes.
namespace argosy::cuda {

// clang-format off
#define ARGOSY_COMPLEX_LOOPS(X) \
  X(sqrt) X(rsqrt) X(exp) X(expm1) X(log) X(log2) X(log10) X(log1p) \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) \
  X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) X(conj) X(real) X(imag) \
  X(angle) X(pow)
// clang-format on
#define ARGOSY_DECLARE_COMPLEX_LOOP(name) bool complex_##name##_loop(cudaStream_t, const LoopCall&);
ARGOSY_COMPLEX_LOOPS(ARGOSY_DECLARE_COMPLEX_LOOP)
#undef ARGOSY_DECLARE_COMPLEX_LOOP

}  // namespace argosy::cuda
