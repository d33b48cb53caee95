#include "argosy/kernels/cpu/elementwise.h"

#include <bit>

#include "argosy/base/error.h"
#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu {

namespace {

// The SIMD file's loops, and libm.cc's where it has none.
template <class Loops>
Loops joined(const Loops& simd, const Loops& libm) {
  Loops result = simd;
  constexpr size_t kTables = sizeof(Loops) / sizeof(LoopTable);
  auto* to = reinterpret_cast<LoopTable*>(&result);
  auto* from = reinterpret_cast<const LoopTable*>(&libm);
  for (size_t t = 0; t < kTables; ++t) {
    for (int d = 0; d < kDTypeCount; ++d) {
      if (!to[t].by_dtype[d]) to[t].by_dtype[d] = from[t].by_dtype[d];
    }
  }
  return result;
}

// Of each instruction set: both stay valid, since references to them are handed out.
const MathLoops& math_of(Isa isa) {
  static const MathLoops kTables[] = {joined(avx2::math_loops, libm_loops),
                                      joined(avx512::math_loops, libm_loops)};
  return kTables[static_cast<int>(isa)];
}
const Math2Loops& math2_of(Isa isa) {
  static const Math2Loops kTables[] = {joined(avx2::math2_loops, libm2_loops),
                                       joined(avx512::math2_loops, libm2_loops)};
  return kTables[static_cast<int>(isa)];
}

}  // namespace

#define ARGOSY_PICK(tables, name)                                                          \
  const LoopTable& name##_loops() {                                                        \
    return isa() == Isa::avx512 ? avx512::tables##_loops.name : avx2::tables##_loops.name; \
  }
#define ARGOSY_PICK_ARITHMETIC(name) ARGOSY_PICK(arithmetic, name)
#define ARGOSY_PICK_INTEGER(name) ARGOSY_PICK(integer, name)
#define ARGOSY_PICK_COMPARE(name) ARGOSY_PICK(compare, name)
#define ARGOSY_PICK_MATH(name)      \
  const LoopTable& name##_loops() { \
    return math_of(isa()).name;     \
  }
#define ARGOSY_PICK_MATH2(name)     \
  const LoopTable& name##_loops() { \
    return math2_of(isa()).name;    \
  }
#define ARGOSY_PICK_ACTIVATION(name) ARGOSY_PICK(activation, name)
#define ARGOSY_PICK_ACTIVATION_GRAD(name) ARGOSY_PICK(activation_grad, name)
ARGOSY_ARITHMETIC_LOOPS(ARGOSY_PICK_ARITHMETIC)
ARGOSY_INTEGER_LOOPS(ARGOSY_PICK_INTEGER)
ARGOSY_COMPARE_LOOPS(ARGOSY_PICK_COMPARE)
ARGOSY_MATH_LOOPS(ARGOSY_PICK_MATH)
ARGOSY_MATH2_LOOPS(ARGOSY_PICK_MATH2)
ARGOSY_ACTIVATION_LOOPS(ARGOSY_PICK_ACTIVATION)
ARGOSY_ACTIVATION_GRAD_LOOPS(ARGOSY_PICK_ACTIVATION_GRAD)

const HostLoops& host_loops() {
  return isa() == Isa::avx512 ? avx512::host_loops : avx2::host_loops;
}

Loop cast_loop(DType from, DType to) {
  const CastLoops& t = isa() == Isa::avx512 ? avx512::cast_loops : avx2::cast_loops;
  return t.by_dtypes[static_cast<int>(from)][static_cast<int>(to)];
}

void widen_f8(bool e4m3, const uint8_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] =
        e4m3 ? float{std::bit_cast<float8_e4m3>(in[i])} : float{std::bit_cast<float8_e5m2>(in[i])};
  }
}

void narrow_f8(bool e4m3, const float* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = e4m3 ? std::bit_cast<uint8_t>(float8_e4m3(in[i]))
                  : std::bit_cast<uint8_t>(float8_e5m2(in[i]));
  }
}

void throw_division_by_zero() {
  ARGOSY_THROW(invalid_argument)
      << "integer division by zero: expected a divisor without zeros, got at least one 0. Do this: "
         "replace zeros of the divisor first (where), or divide floating-point tensors.";
}

}  // namespace argosy::cpu
