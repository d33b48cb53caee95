#pragma once

#include "argosy/kernels/cpu/elementwise.h"

// What each file of simd/ gives, once for each instruction set.
namespace argosy::cpu {

#define ARGOSY_FIELD(name) LoopTable name;
struct ArithmeticLoops {
  ARGOSY_ARITHMETIC_LOOPS(ARGOSY_FIELD)
};
struct IntegerLoops {
  ARGOSY_INTEGER_LOOPS(ARGOSY_FIELD)
};
struct CompareLoops {
  ARGOSY_COMPARE_LOOPS(ARGOSY_FIELD)
};
struct MathLoops {
  ARGOSY_MATH_LOOPS(ARGOSY_FIELD)
};
struct Math2Loops {
  ARGOSY_MATH2_LOOPS(ARGOSY_FIELD)
};
struct ActivationLoops {
  ARGOSY_ACTIVATION_LOOPS(ARGOSY_FIELD)
};
struct ActivationGradLoops {
  ARGOSY_ACTIVATION_GRAD_LOOPS(ARGOSY_FIELD)
};
#undef ARGOSY_FIELD
struct CastLoops {
  Loop by_dtypes[kDTypeCount][kDTypeCount];  // [from][to]
};

#define ARGOSY_LOOPS_OF(isa)                              \
  namespace isa {                                         \
  extern const ArithmeticLoops arithmetic_loops;          \
  extern const IntegerLoops integer_loops;                \
  extern const CompareLoops compare_loops;                \
  extern const MathLoops math_loops;                      \
  extern const Math2Loops math2_loops;                    \
  extern const ActivationLoops activation_loops;          \
  extern const ActivationGradLoops activation_grad_loops; \
  extern const CastLoops cast_loops;                      \
  }
ARGOSY_LOOPS_OF(avx2)
ARGOSY_LOOPS_OF(avx512)
#undef ARGOSY_LOOPS_OF

// Loops over vectors of double, of the files *_double.cc: they go before the others.
// libargosy_infer.so does not have these files, so there the addresses are null (weak).
#define ARGOSY_DOUBLE_LOOPS_OF(isa)                                            \
  namespace isa {                                                              \
  [[gnu::weak]] extern const MathLoops double_math_loops;                      \
  [[gnu::weak]] extern const Math2Loops double_math2_loops;                    \
  [[gnu::weak]] extern const ActivationLoops double_activation_loops;          \
  [[gnu::weak]] extern const ActivationGradLoops double_activation_grad_loops; \
  }
ARGOSY_DOUBLE_LOOPS_OF(avx2)
ARGOSY_DOUBLE_LOOPS_OF(avx512)
#undef ARGOSY_DOUBLE_LOOPS_OF

// Of files without SIMD: complex and double precision, whose functions are the C library's.
extern const MathLoops libm_loops;
extern const Math2Loops libm2_loops;

// Not for simd/ to do by itself (see map.h): raise ErrorKind::invalid_argument; float8.
[[noreturn]] void throw_division_by_zero();
void widen_f8(bool e4m3, const uint8_t* in, float* out, int64_t n);
void narrow_f8(bool e4m3, const float* in, uint8_t* out, int64_t n);

}  // namespace argosy::cpu
