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
// Integers by blocks: the processor divides doubles in vectors, and integers one at a time. A
// quotient of integers below 2^52 is exact this way: it is at least 1 / b away from the next whole
// number, and that is more than its rounding. finish(a, b, quotient, remainder), both truncated;
// other operands go one at a time by `op`.
template <auto op, auto finish, class T>
void by_doubles(char* const* ptrs, int64_t n, const void*) {
  constexpr int kBlock = 256;
  constexpr int64_t kLimit = int64_t{1} << 52;
  const T* a = reinterpret_cast<const T*>(ptrs[0]);
  const T* b = reinterpret_cast<const T*>(ptrs[1]);
  T* out = reinterpret_cast<T*>(ptrs[2]);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int m = n - begin < kBlock ? static_cast<int>(n - begin) : kBlock;
    const T *x = a + begin, *y = b + begin;
    T* to = out + begin;
    uint64_t beyond = 0;
    for (int i = 0; i < m; ++i) {
      bool bad = (y[i] == 0) | is_minus_one(y[i]);
      if constexpr (sizeof(T) == 8) {
        const auto p = static_cast<uint64_t>(x[i]), d = static_cast<uint64_t>(y[i]);
        if constexpr (std::is_signed_v<T>)
          bad |= (p + kLimit >= 2 * kLimit) | (d + kLimit >= 2 * kLimit);
        else
          bad |= (p >= kLimit) | (d >= kLimit);
      }
      beyond |= bad;
    }
    if (beyond) {
      for (int i = 0; i < m; ++i) to[i] = op(x[i], y[i]);
      continue;
    }
#pragma GCC ivdep
    for (int i = 0; i < m; ++i) {
      using Whole = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
      const double quotient = static_cast<double>(x[i]) / static_cast<double>(y[i]);
      T q;
      if constexpr (std::is_same_v<T, uint32_t>)
        q = static_cast<T>(static_cast<int64_t>(quotient));
      else
        q = static_cast<T>(static_cast<Whole>(quotient));
      const T r = static_cast<T>(Wrap<T>(x[i]) - Wrap<T>(q) * Wrap<T>(y[i]));
      to[i] = static_cast<T>(finish(x[i], y[i], q, r));
    }
  }
}
template <auto op, auto finish, class... S>
consteval Draft divisions(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>,
         loop_of<by_doubles<op, finish, S>, 2, Stored<S>::form, Stored<S>::form, Stored<S>::form>),
   ...);
  return t;
}
constexpr auto kQuotient = [](auto, auto, auto q, auto) { return q; };
constexpr auto kFloorQuotient = [](auto, auto b, auto q, auto r) {
  return ((r != 0) & ((b < 0) != (r < 0))) ? q - 1 : q + 0;
};
constexpr auto kRest = [](auto, auto, auto, auto r) { return r; };
constexpr auto kFloorRest = [](auto, auto b, auto, auto r) {
  return ((r != 0) & ((b < 0) != (r < 0))) ? r + b : r + 0;
};

// By blocks, in double, exactly: the remainder of a quotient below 2^52 (2^29 for float32); the C
// library does others. finish(a, b, their fmod) gives the result.
template <auto finish, class T>
void by_fmod(char* const* ptrs, int64_t n, const void*) {
  constexpr int kBlock = 256;
  constexpr double kMost = sizeof(T) == 4 ? 536870912.0 : 4503599627370496.0;
  const T* a = reinterpret_cast<const T*>(ptrs[0]);
  const T* b = reinterpret_cast<const T*>(ptrs[1]);
  T* out = reinterpret_cast<T*>(ptrs[2]);
  T r[kBlock], x[kBlock], y[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int m = n - begin < kBlock ? static_cast<int>(n - begin) : kBlock;
    int64_t beyond = 0;
    for (int i = 0; i < m; ++i) x[i] = a[begin + i];
    for (int i = 0; i < m; ++i) y[i] = b[begin + i];
    for (int i = 0; i < m; ++i) {
      const double p = x[i], d = y[i];
      const double q = __builtin_trunc(p / d);
      double left = __builtin_fma(-q, d, p);
      // The rounded quotient may be one too large.
      left = left * __builtin_copysign(1.0, p) < 0 ? left + __builtin_copysign(d, p) : left;
      r[i] = static_cast<T>(__builtin_copysign(left, p));
      const bool good = (__builtin_fabs(q) < kMost) & (__builtin_fabs(d) < __builtin_inf());
      beyond |= !good;
    }
    if (beyond) {
      for (int i = 0; i < m; ++i) r[i] = fmod_of(x[i], y[i]);
    }
    for (int i = 0; i < m; ++i) out[begin + i] = finish(x[i], y[i], r[i]);
  }
}
template <auto finish>
consteval Draft fast_floats() {
  constexpr Contiguous kKernel = by_fmod<finish, float>;
  Draft t;
  t.add(DType::float64, loop_of<by_fmod<finish, double>, 2, Form::w8, Form::w8, Form::w8>);
  t.add(DType::float16, loop_of<kKernel, 2, Form::f16, Form::f16, Form::f16>);
  t.add(DType::bfloat16, loop_of<kKernel, 2, Form::bf16, Form::bf16, Form::bf16>);
  t.add(DType::float32, loop_of<kKernel, 2, Form::w4, Form::w4, Form::w4>);
  return t;
}
constexpr auto kFmodOf = [](auto, auto, auto r) { return r; };
constexpr auto kRemainderOf = [](auto, auto b, auto r) {
  const bool turned = (r != 0) & ((b < 0) != (r < 0));
  return turned ? r + b : r;
};

constexpr auto kRemainder = [](auto a, auto b) {
  using T = decltype(a);
  T r = kFmod(a, b);
  return static_cast<T>(r != 0 && (b < 0) != (r < 0) ? r + b : r);
};
constexpr auto kFloorDivideOf = [](auto a, auto b, auto r) {
  using T = decltype(a);
  const T ratio = a / b;
  T q = (a - r) / b;
  q = (r != 0) & ((b < 0) != (r < 0)) ? q - 1 : q;
  // (a - r) / b is a whole number up to rounding.
  const T f = floor_of(q);
  const T whole = q - f > T(0.5) ? f + 1 : f;
  const T zero = (ratio < 0) | (1 / ratio < 0) ? T(-0.0) : T(0);
  const T result = q == 0 ? zero : whole;
  return b == 0 ? ratio : result;
};
constexpr auto kFloorDivide = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_float_v<T>) {
    return kFloorDivideOf(a, b, fmod_of(a, b));
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
    .floor_divide =
        divisions<kFloorDivide, kFloorQuotient>(kIntegers) | fast_floats<kFloorDivideOf>(),
    .remainder = divisions<kRemainder, kFloorRest>(kIntegers) | fast_floats<kRemainderOf>(),
    .fmod = divisions<kFmod, kRest>(kIntegers) | fast_floats<kFmodOf>(),
    .trunc_divide = divisions<kTruncDivide, kQuotient>(kIntegers) | binary<kTruncDivide>(kFloats),
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
