#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "argosy/base/export.h"
#include "argosy/base/half.h"

namespace argosy {

class Message;

enum class DType : uint8_t {
  bool_,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float8_e4m3,
  float8_e5m2,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};
inline constexpr int kDTypeCount = 17;

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

inline constexpr int kItemSize[kDTypeCount] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8, 8, 16};
constexpr int item_size(DType t) {
  return kItemSize[static_cast<int>(t)];
}

// A set of dtypes as a bit mask, for schemas.
struct DTypes {
  uint32_t bits = 0;
  constexpr bool has(DType t) const { return bits >> static_cast<int>(t) & 1; }
  constexpr DTypes operator|(DTypes o) const { return {bits | o.bits}; }
  constexpr DTypes operator-(DTypes o) const { return {bits & ~o.bits}; }
};
constexpr DTypes only(DType t) {
  return {1u << static_cast<int>(t)};
}
inline constexpr DTypes kBool = only(DType::bool_);
inline constexpr DTypes kUnsigned =
    only(DType::uint8) | only(DType::uint16) | only(DType::uint32) | only(DType::uint64);
inline constexpr DTypes kSigned =
    only(DType::int8) | only(DType::int16) | only(DType::int32) | only(DType::int64);
inline constexpr DTypes kIntegral = kUnsigned | kSigned;
inline constexpr DTypes kFloat8 = only(DType::float8_e4m3) | only(DType::float8_e5m2);
inline constexpr DTypes kHalf = only(DType::float16) | only(DType::bfloat16);
// What "floating" means to an op: float8 is for storage and casts only.
inline constexpr DTypes kFloating = kHalf | only(DType::float32) | only(DType::float64);
inline constexpr DTypes kComplex = only(DType::complex64) | only(DType::complex128);
inline constexpr DTypes kReal = kIntegral | kFloating;
inline constexpr DTypes kNumeric = kReal | kComplex;
inline constexpr DTypes kIndex = only(DType::int32) | only(DType::int64);
inline constexpr DTypes kAny{(1u << kDTypeCount) - 1};

constexpr bool is_floating(DType t) {
  return (kFloating | kFloat8).has(t);
}
constexpr bool is_complex(DType t) {
  return kComplex.has(t);
}
constexpr bool is_integral(DType t) {
  return kIntegral.has(t);
}
constexpr bool is_differentiable(DType t) {
  return (kFloating | kComplex).has(t);
}

// complex64 -> float32, complex128 -> float64, others unchanged; and the reverse.
constexpr DType real_of(DType t) {
  return t == DType::complex64 ? DType::float32 : t == DType::complex128 ? DType::float64 : t;
}
constexpr DType complex_of(DType t) {
  return t == DType::float64 || t == DType::complex128 ? DType::complex128 : DType::complex64;
}

ARGOSY_API const char* name_of(DType t);  // "float32"; float8_e4m3 is "float8_e4m3fn"
// The inverse of name_of; also accepts a "paddle." or "argosy." prefix and NumPy's names of the
// same types ("float" is float64, "int" and "long" int64, "f4" float32).
ARGOSY_API std::optional<DType> dtype_from_name(std::string_view s);

// Binary operations on tensors of different dtypes (docs/dtypes.md gives the tables).
// promote: the smallest dtype that holds both, kind first (bool < integer < floating < complex).
ARGOSY_API DType promote(DType a, DType b);
// Whether Paddle lets two tensors with dimensions mix: equal, both floating, or one complex.
// Otherwise the op owes its caller a TypeError.
ARGOSY_API bool promotable(DType a, DType b);
// The rule for two tensors, where a 0-d one counts as a scalar: it mixes with everything and does
// not widen within its kind. nullopt: refused.
ARGOSY_API std::optional<DType> promote_tensors(DType a, bool a_is_0d, DType b, bool b_is_0d);

ARGOSY_API Message& operator<<(Message& m, DType t);
ARGOSY_API Message& operator<<(Message& m, DTypes set);

template <class T>
struct dtype_of_t;
#define ARGOSY_DTYPE_OF(cpp, value)              \
  template <>                                    \
  struct dtype_of_t<cpp> {                       \
    static constexpr DType dtype = DType::value; \
  }
ARGOSY_DTYPE_OF(bool, bool_);
ARGOSY_DTYPE_OF(uint8_t, uint8);
ARGOSY_DTYPE_OF(int8_t, int8);
ARGOSY_DTYPE_OF(uint16_t, uint16);
ARGOSY_DTYPE_OF(int16_t, int16);
ARGOSY_DTYPE_OF(uint32_t, uint32);
ARGOSY_DTYPE_OF(int32_t, int32);
ARGOSY_DTYPE_OF(uint64_t, uint64);
ARGOSY_DTYPE_OF(int64_t, int64);
ARGOSY_DTYPE_OF(float8_e4m3, float8_e4m3);
ARGOSY_DTYPE_OF(float8_e5m2, float8_e5m2);
ARGOSY_DTYPE_OF(float16, float16);
ARGOSY_DTYPE_OF(bfloat16, bfloat16);
ARGOSY_DTYPE_OF(float, float32);
ARGOSY_DTYPE_OF(double, float64);
ARGOSY_DTYPE_OF(complex64, complex64);
ARGOSY_DTYPE_OF(complex128, complex128);
#undef ARGOSY_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::dtype;

// Calls f(T{}) with the C++ type of `t` if it is one of Ts; returns whether it was.
//   dispatch_types<float, double>(x.dtype(), [&]<class T>(T) { ... });
template <class... Ts, class F>
inline bool dispatch_types(DType t, F&& f) {
  return ((t == dtype_of<Ts> ? (f(Ts{}), true) : false) || ...);
}
// The usual type lists for it.
template <class F>
inline bool dispatch_all(DType t, F&& f) {
  return dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t,
                        int64_t, float16, bfloat16, float, double, complex64, complex128>(
      t, static_cast<F&&>(f));
}
template <class F>
inline bool dispatch_real(DType t, F&& f) {
  return dispatch_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                        float16, bfloat16, float, double>(t, static_cast<F&&>(f));
}
template <class F>
inline bool dispatch_floating(DType t, F&& f) {
  return dispatch_types<float16, bfloat16, float, double>(t, static_cast<F&&>(f));
}

}  // namespace argosy
