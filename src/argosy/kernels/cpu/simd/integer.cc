#include "argosy/kernels/cpu/simd/map.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

ARGOSY_INLINE float fmod_of(float a, float b) {
  return __builtin_fmodf(a, b);
}
ARGOSY_INLINE double fmod_of(double a, double b) {
  return __builtin_fmod(a, b);
}
ARGOSY_INLINE float floor_of(float a) {
  return __builtin_floorf(a);
}
ARGOSY_INLINE double floor_of(double a) {
  return __builtin_floor(a);
}
ARGOSY_INLINE float trunc_of(float a) {
  return __builtin_truncf(a);
}
ARGOSY_INLINE double trunc_of(double a) {
  return __builtin_trunc(a);
}

template <class T>
ARGOSY_INLINE void check_divisor(T b) {
  if (b == 0) [[unlikely]]
    throw_division_by_zero();
}
// The least integer divided by -1 traps on x86.
template <class T>
ARGOSY_INLINE bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}

constexpr auto kTruncDivide = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_float_v<T>) {
    return trunc_of(a / b);
  } else {
    check_divisor(b);
    return static_cast<T>(is_minus_one(b) ? static_cast<T>(0 - Wrap<T>(a)) : a / b);
  }
};
constexpr auto kFmod = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_float_v<T>) {
    return fmod_of(a, b);
  } else {
    check_divisor(b);
    return static_cast<T>(is_minus_one(b) ? T(0) : static_cast<T>(a % b));
  }
};
constexpr auto kRemainder = [](auto a, auto b) {
  using T = decltype(a);
  T r = kFmod(a, b);
  return static_cast<T>(r != 0 && (b < 0) != (r < 0) ? r + b : r);
};
constexpr auto kFloorDivide = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_float_v<T>) {
    if (b == 0) return a / b;
    T r = fmod_of(a, b);
    T q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return a / b < 0 || 1 / (a / b) < 0 ? T(-0.0) : T(0);
    // (a - r) / b is a whole number up to rounding.
    T f = floor_of(q);
    return q - f > T(0.5) ? f + 1 : f;
  } else {
    check_divisor(b);
    if (is_minus_one(b)) return static_cast<T>(0 - Wrap<T>(a));
    T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
    return static_cast<T>(r != 0 && (b < 0) != (r < 0) ? q - 1 : q);
  }
};

template <class T>
ARGOSY_INLINE Wrap<T> magnitude(T a) {
  return a < T(0) ? 0 - Wrap<T>(a) : Wrap<T>(a);
}
template <class T>
ARGOSY_INLINE Wrap<T> gcd_of(T a, T b) {
  Wrap<T> x = magnitude(a), y = magnitude(b);
  while (y) {
    Wrap<T> r = x % y;
    x = y;
    y = r;
  }
  return x;
}
constexpr auto kGcd = [](auto a, auto b) { return static_cast<decltype(a)>(gcd_of(a, b)); };
constexpr auto kLcm = [](auto a, auto b) {
  using T = decltype(a);
  if (a == 0 || b == 0) return T(0);
  return static_cast<T>(magnitude(a) / gcd_of(a, b) * magnitude(b));
};

constexpr auto kAnd = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto kOr = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto kXor = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto kNot = [](auto a) {
  using T = decltype(a);
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
};
template <class T>
ARGOSY_INLINE bool outside(T count) {
  return count < T(0) || count >= static_cast<T>(sizeof(T) * 8);
}
constexpr auto kLeftShift = [](auto a, auto b) {
  using T = decltype(a);
  T shifted = static_cast<T>(Wrap<T>(a) << (b & (sizeof(Wrap<T>) * 8 - 1)));
  return outside(b) ? T(0) : shifted;
};
constexpr auto kRightShift = [](auto a, auto b) {
  using T = decltype(a);
  T shifted = static_cast<T>(a >> (b & (sizeof(T) * 8 - 1)));
  return outside(b) ? static_cast<T>(a < T(0) ? -1 : 0) : shifted;
};
constexpr auto kRightShiftLogical = [](auto a, auto b) {
  using T = decltype(a);
  using U = std::make_unsigned_t<T>;
  T shifted = static_cast<T>(static_cast<U>(a) >> (b & (sizeof(T) * 8 - 1)));
  return outside(b) ? T(0) : shifted;
};

constexpr Integers kIntegers;
constexpr Floats kFloats;
constexpr Types<bool> kBools;

template <auto op>
consteval Draft bits2() {
  return and_signed(binary<op>(Unsigned{})) | binary<op>(kBools);
}

constexpr IntegerLoops kLoops = {
    .floor_divide = binary<kFloorDivide>(kIntegers) | binary<kFloorDivide>(kFloats),
    .remainder = binary<kRemainder>(kIntegers) | binary<kRemainder>(kFloats),
    .fmod = binary<kFmod>(kIntegers) | binary<kFmod>(kFloats),
    .trunc_divide = binary<kTruncDivide>(kIntegers) | binary<kTruncDivide>(kFloats),
    .gcd = binary<kGcd>(kIntegers),
    .lcm = binary<kLcm>(kIntegers),
    .bitwise_and = bits2<kAnd>(),
    .bitwise_or = bits2<kOr>(),
    .bitwise_xor = bits2<kXor>(),
    .bitwise_not = and_signed(unary<kNot>(Unsigned{})) | unary<kNot>(kBools),
    .left_shift = binary<kLeftShift>(kIntegers),
    .right_shift = binary<kRightShift>(kIntegers),
    .right_shift_logical = binary<kRightShiftLogical>(kIntegers),
};

}  // namespace

const IntegerLoops integer_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
