#include "argosy/kernels/cpu/simd/map.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class T>
ARGOSY_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
ARGOSY_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
ARGOSY_INLINE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
ARGOSY_INLINE Complex<T> operator*(Complex<T> a, T b) {
  return {a.re * b, a.im * b};
}
// Smith's division: no overflow in between.
template <class T>
ARGOSY_INLINE Complex<T> operator/(Complex<T> a, Complex<T> b) {
  bool wide = __builtin_fabs(b.re) >= __builtin_fabs(b.im);
  T big = wide ? b.re : b.im, small = wide ? b.im : b.re;
  T ratio = small / big;
  T scale = 1 / (big + small * ratio);
  T re = wide ? a.re + a.im * ratio : a.re * ratio + a.im;
  T im = wide ? a.im - a.re * ratio : a.im * ratio - a.re;
  return {re * scale, im * scale};
}

template <class T>
ARGOSY_INLINE double modulus(Complex<T> a) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_sqrt(static_cast<double>(a.re) * a.re + static_cast<double>(a.im) * a.im);
  } else {
    return __builtin_hypot(a.re, a.im);
  }
}

constexpr auto kAdd = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
  }
};
constexpr auto kSubtract = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return a - b;
  } else {
    return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
  }
};
constexpr auto kMultiply = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
  }
};
constexpr auto kDivide = [](auto a, auto b) { return a / b; };
constexpr auto kMaximum = Exact{[](auto a, auto b) { return a > b || a != a ? a : b; }};
constexpr auto kMinimum = Exact{[](auto a, auto b) { return a < b || a != a ? a : b; }};
constexpr auto kFmax = Exact{[](auto a, auto b) { return a > b || b != b ? a : b; }};
constexpr auto kFmin = Exact{[](auto a, auto b) { return a < b || b != b ? a : b; }};

constexpr auto kNegative = Exact{[](auto a) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return T{-a.re, -a.im};
  } else {
    return static_cast<T>(is_float_v<T> ? -a : 0 - Wrap<T>(a));
  }
}};
// float16 has its sign in a bit: nothing is widened.
template <auto op>
consteval Draft half_bits() {
  Draft t;
  t.add(DType::float16, loop_of<map1<op, uint16_t, uint16_t>, 1, Form::w2, Form::w2>);
  return t;
}
constexpr auto kFlipSign = [](uint16_t bits) { return static_cast<uint16_t>(bits ^ 0x8000); };
constexpr auto kClearSign = [](uint16_t bits) { return static_cast<uint16_t>(bits & 0x7fff); };

constexpr auto kAbsolute = Exact{[](auto a) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return modulus(a);
  } else if constexpr (is_float_v<T>) {
    return static_cast<T>(sizeof(T) == 4 ? __builtin_fabsf(a) : __builtin_fabs(a));
  } else {
    return static_cast<T>(a < T(0) ? 0 - Wrap<T>(a) : Wrap<T>(a));
  }
}};
constexpr auto kSign = [](auto a) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    auto m = static_cast<decltype(a.re)>(modulus(a));
    return m == 0 ? T{0, 0} : T{a.re / m, a.im / m};
  } else {
    T s = static_cast<T>(static_cast<T>(a > T(0)) - static_cast<T>(a < T(0)));
    return a != a ? a : s;
  }
};
constexpr auto kSquare = [](auto a) { return kMultiply(a, a); };
constexpr auto kReciprocal = [](auto a) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return T{1, 0} / a;
  } else {
    return T(1) / a;
  }
};

constexpr auto kFma = [](auto a, auto b, auto c) { return kAdd(kMultiply(a, b), c); };
constexpr auto kLerp = [](auto a, auto b, auto w) {
  return kAdd(a, kMultiply(w, kSubtract(b, a)));
};
constexpr auto kScale = [](auto a, const auto& p) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return T{a.re * p.a + p.b, a.im * p.a};
  } else {
    return kAdd(kMultiply(a, T(p.a)), T(p.b));
  }
};
constexpr auto kScaleAfterBias = [](auto a, const auto& p) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return T{(a.re + p.b) * p.a, a.im * p.a};
  } else {
    return kMultiply(kAdd(a, T(p.b)), T(p.a));
  }
};
constexpr auto kAxpy = [](auto a, auto b, const auto& p) {
  using T = decltype(a);
  if constexpr (is_complex_v<T>) {
    return a * p.a + b * p.b;
  } else {
    return kAdd(kMultiply(a, T(p.a)), kMultiply(b, T(p.b)));
  }
};
constexpr auto kClip = [](auto x, const auto& p) {
  using T = decltype(x);
  T low = x < T(p.a) ? T(p.a) : x;
  return low > T(p.b) ? T(p.b) : low;
};
constexpr auto kClipGrad = Exact{[](auto x, auto dy, const auto& p) {
  using T = decltype(x);
  return x >= T(p.a) && x <= T(p.b) ? dy : T(0);
}};

// Items of one width are moved alike, whatever they mean.
template <class T>
void where_contiguous(char* const* ptrs, int64_t n, const void*) {
  const uint8_t* condition = reinterpret_cast<const uint8_t*>(ptrs[0]);
  const T* a = reinterpret_cast<const T*>(ptrs[1]);
  const T* b = reinterpret_cast<const T*>(ptrs[2]);
  T* out = reinterpret_cast<T*>(ptrs[3]);
  if constexpr (is_complex_v<T>) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      T x = a[i], y = b[i];
      out[i] = {condition[i] ? x.re : y.re, condition[i] ? x.im : y.im};
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      T x = a[i], y = b[i];
      out[i] = condition[i] ? x : y;
    }
  }
}
template <class T>
constexpr Loop kWhere =
    loop_of<where_contiguous<T>, 3, Form::w1, Stored<T>::form, Stored<T>::form, Stored<T>::form>;

constexpr auto kDropout = [](auto x, uint8_t keep, const auto& p) {
  const auto kept = x * p.a;
  return keep ? kept : 0;
};
template <class T>
void dropout_contiguous(char* const* ptrs, int64_t n, const void* params) {
  using E = Element<T>;
  const Numbers<E> factor{static_cast<E>(*static_cast<const double*>(params)), 0, 0};
  map_all<kDropout>(n, factor, reinterpret_cast<T*>(ptrs[2]), input<T>(ptrs[0]),
                    input<uint8_t>(ptrs[1]));
}
template <class S>
constexpr Loop kDropoutLoop =
    loop_of<dropout_contiguous<Mapped<S>>, 2, mapped_form<S>, Form::w1, mapped_form<S>>;

consteval Draft where_table() {
  Draft t;
  for (int i = 0; i < kDTypeCount; ++i) {
    switch (kItemSize[i]) {
      case 1:
        t.add(static_cast<DType>(i), kWhere<uint8_t>);
        break;
      case 2:
        t.add(static_cast<DType>(i), kWhere<uint16_t>);
        break;
      case 4:
        t.add(static_cast<DType>(i), kWhere<uint32_t>);
        break;
      case 8:
        t.add(static_cast<DType>(i), kWhere<uint64_t>);
        break;
      default:
        t.add(static_cast<DType>(i), kWhere<c128>);
    }
  }
  return t;
}
consteval Draft dropout_table() {
  Draft t;
  t.add(DType::float16, kDropoutLoop<float16>);
  t.add(DType::bfloat16, kDropoutLoop<bfloat16>);
  t.add(DType::float32, kDropoutLoop<float>);
  t.add(DType::float64, kDropoutLoop<double>);
  return t;
}

constexpr Unsigned kUnsignedTypes;
constexpr Integers kIntegers;
constexpr Floats kFloats;
constexpr Complexes kComplexes;
constexpr Types<bool> kBools;

template <auto op>
consteval Draft wrapping2() {
  return and_signed(binary<op>(kUnsignedTypes)) | binary<op>(kFloats) | binary<op>(kComplexes);
}
template <auto op>
consteval Draft ordered2() {
  return binary<op>(kIntegers) | binary<op>(kFloats) | binary<op>(kBools);
}
template <auto op>
consteval Draft numeric1() {
  return unary<op>(kIntegers) | unary<op>(kFloats) | unary<op>(kComplexes);
}

}  // namespace

constexpr ArithmeticLoops kLoops = {
    .add = wrapping2<kAdd>() | binary<kAdd>(kBools),
    .subtract = wrapping2<kSubtract>(),
    .multiply = wrapping2<kMultiply>() | binary<kMultiply>(kBools),
    .divide = binary<kDivide>(kFloats) | binary<kDivide>(kComplexes),
    .maximum = ordered2<kMaximum>(),
    .minimum = ordered2<kMinimum>(),
    .fmax = binary<kFmax>(kFloats) | ordered2<kMaximum>(),
    .fmin = binary<kFmin>(kFloats) | ordered2<kMinimum>(),
    .negative = half_bits<kFlipSign>() | and_signed(unary<kNegative>(kUnsignedTypes)) |
                unary<kNegative>(kFloats) | unary<kNegative>(kComplexes),
    .absolute = half_bits<kClearSign>() | unary<kAbsolute>(kIntegers) | unary<kAbsolute>(kFloats) |
                unary<kAbsolute, Real>(kComplexes),
    .sign = numeric1<kSign>(),
    .square = and_signed(unary<kSquare>(kUnsignedTypes)) | unary<kSquare>(kFloats) |
              unary<kSquare>(kComplexes),
    .reciprocal = unary<kReciprocal>(kFloats) | unary<kReciprocal>(kComplexes),
    .where = where_table(),
    .fma = and_signed(ternary<kFma>(kUnsignedTypes)) | ternary<kFma>(kFloats) |
           ternary<kFma>(kComplexes),
    .lerp = ternary<kLerp>(kFloats) | ternary<kLerp>(kComplexes),
    .scale = numeric1<kScale>(),
    .scale_after_bias = numeric1<kScaleAfterBias>(),
    .axpy = binary<kAxpy>(kIntegers) | binary<kAxpy>(kFloats) | binary<kAxpy>(kComplexes),
    .dropout = dropout_table(),
    .clip = unary<kClip>(kIntegers) | unary<kClip>(kFloats),
    .clip_grad = binary<kClipGrad>(kIntegers) | binary<kClipGrad>(kFloats),
};
const ArithmeticLoops arithmetic_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
