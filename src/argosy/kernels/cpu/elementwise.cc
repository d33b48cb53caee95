#include "argosy/kernels/cpu/elementwise.h"

#include <bit>

#include "argosy/base/error.h"
#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu {

namespace {

// Fills what tables have not with loops of `more`, which may be null.
void join(LoopTable* tables, const LoopTable* more, size_t count) {
  for (size_t t = 0; more && t < count; ++t) {
    for (int d = 0; d < kDTypeCount; ++d) {
      if (!tables[t].by_dtype[d]) tables[t].by_dtype[d] = more[t].by_dtype[d];
    }
  }
}

// Loops over vectors of double (null: there are none) before those of the SIMD file before
// libm.cc's. Of each instruction set: both stay valid, since references to them are handed out.
template <class Loops>
class Joined {
 public:
  Joined(const Loops* const (&avx2)[3], const Loops* const (&avx512)[3]) {
    for (int k = 0; k < 3; ++k) {
      add(avx2_, avx2[k]);
      add(avx512_, avx512[k]);
    }
  }
  const Loops& now() const { return isa() == Isa::avx512 ? avx512_ : avx2_; }

 private:
  static void add(Loops& to, const Loops* from) {
    join(reinterpret_cast<LoopTable*>(&to), reinterpret_cast<const LoopTable*>(from),
         sizeof(Loops) / sizeof(LoopTable));
  }
  Loops avx2_{}, avx512_{};
};
const MathLoops& math_now() {
  static const Joined<MathLoops> kLoops(
      {&avx2::double_math_loops, &avx2::math_loops, &libm_loops},
      {&avx512::double_math_loops, &avx512::math_loops, &libm_loops});
  return kLoops.now();
}
const Math2Loops& math2_now() {
  static const Joined<Math2Loops> kLoops(
      {&avx2::double_math2_loops, &avx2::math2_loops, &libm2_loops},
      {&avx512::double_math2_loops, &avx512::math2_loops, &libm2_loops});
  return kLoops.now();
}
const ActivationLoops& activation_now() {
  static const Joined<ActivationLoops> kLoops(
      {&avx2::double_activation_loops, &avx2::activation_loops, nullptr},
      {&avx512::double_activation_loops, &avx512::activation_loops, nullptr});
  return kLoops.now();
}
const ActivationGradLoops& activation_grad_now() {
  static const Joined<ActivationGradLoops> kLoops(
      {&avx2::double_activation_grad_loops, &avx2::activation_grad_loops, nullptr},
      {&avx512::double_activation_grad_loops, &avx512::activation_grad_loops, nullptr});
  return kLoops.now();
}

}  // namespace

#define ARGOSY_PICK(tables, name)                                                          \
  const LoopTable& name##_loops() {                                                        \
    return isa() == Isa::avx512 ? avx512::tables##_loops.name : avx2::tables##_loops.name; \
  }
#define ARGOSY_PICK_ARITHMETIC(name) ARGOSY_PICK(arithmetic, name)
#define ARGOSY_PICK_INTEGER(name) ARGOSY_PICK(integer, name)
#define ARGOSY_PICK_COMPARE(name) ARGOSY_PICK(compare, name)
#define ARGOSY_PICK_JOINED(tables, name) \
  const LoopTable& name##_loops() {      \
    return tables##_now().name;          \
  }
#define ARGOSY_PICK_MATH(name) ARGOSY_PICK_JOINED(math, name)
#define ARGOSY_PICK_MATH2(name) ARGOSY_PICK_JOINED(math2, name)
#define ARGOSY_PICK_ACTIVATION(name) ARGOSY_PICK_JOINED(activation, name)
#define ARGOSY_PICK_ACTIVATION_GRAD(name) ARGOSY_PICK_JOINED(activation_grad, name)
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
