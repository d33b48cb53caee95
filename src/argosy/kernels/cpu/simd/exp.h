#pragma once

#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {

// exp(x), but 0 where that would be denormal: such numbers are slow to make, and a masked score of
// -inf is one in between.
ARGOSY_INLINE float exp_or_zero(float x) {
  constexpr float kLeast = -87.3f;
  const float y = exp_of(x < kLeast ? kLeast : x);
  return x < kLeast ? 0.0f : y;
}
ARGOSY_INLINE double exp_or_zero(double x) {
  return exp_of(x);
}

}  // namespace argosy::cpu::ARGOSY_ISA
