#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "argosy/base/half.h"
#include "argosy/kernels/cpu/loops.h"

// Makes a Loop from a function of one element. Only a plain contiguous loop over computing types
// and bfloat16 is compiled (and vectorized) for each op and dtype; strided and broadcast operands
// and the other small floats go through it by blocks that fit into the first-level cache.
//
// REQUIRES of everything in simd/: all names live in namespace argosy::cpu::ARGOSY_ISA, since these
// files are compiled once for each instruction set; nothing of std:: that is code, no inline
// function of other headers (float16's conversions included).
namespace argosy::cpu::ARGOSY_ISA {

#define ARGOSY_INLINE [[gnu::always_inline]] inline

template <class T>
struct Complex {
  T re, im;
};
using c64 = Complex<float>;
using c128 = Complex<double>;
template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<Complex<T>> = true;
template <class T>
inline constexpr bool is_float_v = std::is_floating_point_v<T>;

// Integer arithmetic that wraps.
template <class T>
struct WrapOf {
  using type = T;
};
template <class T>
requires(std::is_integral_v<T>) struct WrapOf<T> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <class T>
using Wrap = typename WrapOf<T>::type;

// How an operand lies in memory: raw items by width, or small floats to be widened.
enum class Form : uint8_t { w1, w2, w4, w8, w16, f16, bf16, f8_e4m3, f8_e5m2 };
constexpr int stored_size(Form f) {
  constexpr int kSize[] = {1, 2, 4, 8, 16, 2, 2, 1, 1};
  return kSize[static_cast<int>(f)];
}
constexpr int computed_size(Form f) {
  return f >= Form::f16 ? 4 : stored_size(f);
}

template <class S>
struct Stored {
  using Computed = S;
  static constexpr Form form = sizeof(S) == 1   ? Form::w1
                               : sizeof(S) == 2 ? Form::w2
                               : sizeof(S) == 4 ? Form::w4
                               : sizeof(S) == 8 ? Form::w8
                                                : Form::w16;
};
template <>
struct Stored<float16> {
  using Computed = float;
  static constexpr Form form = Form::f16;
};
template <>
struct Stored<bfloat16> {
  using Computed = float;
  static constexpr Form form = Form::bf16;
};
template <>
struct Stored<float8_e4m3> {
  using Computed = float;
  static constexpr Form form = Form::f8_e4m3;
};
template <>
struct Stored<float8_e5m2> {
  using Computed = float;
  static constexpr Form form = Form::f8_e5m2;
};
template <class S>
using Computed = typename Stored<S>::Computed;

void widen_f16(const uint16_t* in, float* out, int64_t n);
void widen_bf16(const uint16_t* in, float* out, int64_t n);
void narrow_f16(const float* in, uint16_t* out, int64_t n);
void narrow_bf16(const float* in, uint16_t* out, int64_t n);

// Contiguous operands of computing types: inputs, then outputs.
using Contiguous = void (*)(char* const* ptrs, int64_t n, const void* params);

// The operands of a loop in one number, since a loop of each op and dtype tells run_blocked: how
// many there are, how many of them are inputs, and their forms, four bits each.
template <int inputs, Form... forms>
consteval uint32_t operands_of() {
  static_assert(sizeof...(forms) <= 6);
  uint32_t bits = sizeof...(forms) | inputs << 4;
  int at = 4;
  ((bits |= static_cast<uint32_t>(forms) << (at += 4)), ...);
  return bits;
}
ARGOSY_INLINE int count_of(uint32_t operands) {
  return static_cast<int>(operands & 15);
}
ARGOSY_INLINE int inputs_of(uint32_t operands) {
  return static_cast<int>(operands >> 4 & 15);
}
ARGOSY_INLINE Form form_of(uint32_t operands, int k) {
  return static_cast<Form>(operands >> (8 + 4 * k) & 15);
}

void run_blocked(char* const* ptrs, const int64_t* strides, int64_t n, const void* params,
                 Contiguous kernel, uint32_t operands);

// There are two thousand of these: each is a few comparisons and two jumps.
template <Contiguous kernel, int inputs, Form... forms>
void loop_of(char* const* ptrs, const int64_t* strides, int64_t n, const void* params) {
  if constexpr (((forms < Form::f16) && ...)) {
    int k = 0;
    if (((strides[k++] == stored_size(forms)) && ...)) return kernel(ptrs, n, params);
  }
  run_blocked(ptrs, strides, n, params, kernel, operands_of<inputs, forms...>());
}

// The op's LoopParams as the computing type (integers saturate). An op that takes them is called
// with them last.
template <class T>
struct Numbers {
  T a, b, c;
};

template <class S>
ARGOSY_INLINE S number(double v) {
  if constexpr (std::is_integral_v<S>) {
    constexpr S kMax = static_cast<S>(~static_cast<std::make_unsigned_t<S>>(0)) < S(0)
                           ? static_cast<S>(static_cast<std::make_unsigned_t<S>>(~0ull) >> 1)
                           : static_cast<S>(~0ull);
    constexpr S kMin = static_cast<S>(~kMax);  // 0 for unsigned types
    if (v >= static_cast<double>(kMax)) return kMax;
    if (v <= static_cast<double>(kMin)) return kMin;
    return v == v ? static_cast<S>(v) : S(0);
  } else {
    return static_cast<S>(v);
  }
}

template <class T>
struct ScalarOf {
  using type = T;
};
template <>
struct ScalarOf<bool> {
  using type = uint8_t;
};
template <class T>
struct ScalarOf<Complex<T>> {
  using type = T;
};

template <class T>
ARGOSY_INLINE auto numbers(const void* params) {
  using S = typename ScalarOf<T>::type;
  const double* v = static_cast<const double*>(params);
  return v ? Numbers<S>{number<S>(v[0]), number<S>(v[1]), number<S>(v[2])} : Numbers<S>{};
}

template <auto op, class R, class N, class... A>
ARGOSY_INLINE R apply(const N& p, A... a) {
  if constexpr (std::is_invocable_v<decltype(op), A..., const N&>) {
    return static_cast<R>(op(a..., p));
  } else {
    return static_cast<R>(op(a...));
  }
}

// A bfloat16 as loops see it that compute with it directly. Two of them are a word, whose halves
// are widened and rounded where they lie, so the lanes of a loop stay 32 bits wide and none is
// shuffled.
struct Bf16 {
  uint16_t bits;
};
// What an op gets of an element, or gives.
template <class T>
struct ElementOf {
  using type = T;
};
template <>
struct ElementOf<Bf16> {
  using type = float;
};
template <class T>
using Element = typename ElementOf<T>::type;

template <class T>
struct Pair {
  T low, high;
};
typedef uint32_t TwoHalves __attribute__((may_alias, aligned(2)));
typedef uint16_t TwoBytes __attribute__((may_alias, aligned(1)));

// An op whose result is an operand or another bfloat16, where operands are: nothing is rounded.
template <class F>
struct Exact : F {};
template <class F>
Exact(F) -> Exact<F>;
template <class F>
inline constexpr bool is_exact = false;
template <class F>
inline constexpr bool is_exact<Exact<F>> = true;

// The upper half is v as bfloat16, to nearest even; NaN stays NaN. The lower half is anything.
ARGOSY_INLINE uint32_t round_bf16(float v) {
  const uint32_t u = __builtin_bit_cast(uint32_t, v);
  return v != v ? u | 0x400000 : u + 0x7fff + (u >> 16 & 1);
}

// Elements 2 i and 2 i + 1.
ARGOSY_INLINE Pair<float> load_pair(const Bf16* p, int64_t i) {
  const uint32_t word = reinterpret_cast<const TwoHalves*>(p)[i];
  return {__builtin_bit_cast(float, word << 16), __builtin_bit_cast(float, word & 0xffff0000)};
}
ARGOSY_INLINE Pair<uint8_t> load_pair(const uint8_t* p, int64_t i) {
  const uint16_t word = reinterpret_cast<const TwoBytes*>(p)[i];
  return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8)};
}
template <bool exact>
ARGOSY_INLINE void store_pair(Bf16* p, int64_t i, Pair<float> v) {
  const uint32_t low = exact ? __builtin_bit_cast(uint32_t, v.low) : round_bf16(v.low);
  const uint32_t high = exact ? __builtin_bit_cast(uint32_t, v.high) : round_bf16(v.high);
  reinterpret_cast<TwoHalves*>(p)[i] = low >> 16 | (high & 0xffff0000);
}
template <bool>
ARGOSY_INLINE void store_pair(uint8_t* p, int64_t i, Pair<uint8_t> v) {
  reinterpret_cast<TwoBytes*>(p)[i] = static_cast<uint16_t>(v.low | v.high << 8);
}
ARGOSY_INLINE float load_one(const Bf16* p) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(p->bits) << 16);
}
ARGOSY_INLINE uint8_t load_one(const uint8_t* p) {
  return *p;
}
ARGOSY_INLINE void store_one(Bf16* p, float v) {
  p->bits = static_cast<uint16_t>(round_bf16(v) >> 16);
}
ARGOSY_INLINE void store_one(uint8_t* p, uint8_t v) {
  *p = v;
}

// out[i] = op(in[i]..). GCC ivdep: the output may be exactly one of the inputs.
template <auto op, class N, class R, class... A>
ARGOSY_INLINE void map_all(int64_t n, const N& p, R* out, const A*... in) {
  if constexpr ((std::is_same_v<A, Bf16> || ...)) {
    using E = Element<R>;
    const int64_t pairs = n / 2;
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; ++i)
      store_pair<is_exact<std::remove_const_t<decltype(op)>>>(
          out, i,
          Pair<E>{apply<op, E>(p, load_pair(in, i).low...),
                  apply<op, E>(p, load_pair(in, i).high...)});
    if (n % 2) store_one(out + n - 1, apply<op, E>(p, load_one(in + n - 1)...));
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op, R>(p, in[i]...);
  }
}
template <class T>
ARGOSY_INLINE const T* input(char* p) {
  return reinterpret_cast<const T*>(p);
}

// Each is compiled once: loop_of would hold a second copy of it, were it inlined.
template <auto op, class R, class A>
[[gnu::noinline]] void map1(char* const* ptrs, int64_t n, const void* params) {
  map_all<op>(n, numbers<Element<A>>(params), reinterpret_cast<R*>(ptrs[1]), input<A>(ptrs[0]));
}
template <auto op, class R, class A, class B>
[[gnu::noinline]] void map2(char* const* ptrs, int64_t n, const void* params) {
  map_all<op>(n, numbers<Element<B>>(params), reinterpret_cast<R*>(ptrs[2]), input<A>(ptrs[0]),
              input<B>(ptrs[1]));
}
template <auto op, class R, class A, class B, class C>
[[gnu::noinline]] void map3(char* const* ptrs, int64_t n, const void* params) {
  map_all<op>(n, numbers<Element<B>>(params), reinterpret_cast<R*>(ptrs[3]), input<A>(ptrs[0]),
              input<B>(ptrs[1]), input<C>(ptrs[2]));
}

// ---- tables ----

template <class... S>
struct Types {};
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Signed = Types<int8_t, int16_t, int32_t, int64_t>;
using Integers = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using Floats = Types<float16, bfloat16, float, double>;
using Complexes = Types<c64, c128>;

template <class S>
inline constexpr DType dtype_id = dtype_of<S>;
template <>
inline constexpr DType dtype_id<c64> = DType::complex64;
template <>
inline constexpr DType dtype_id<c128> = DType::complex128;

// Result type R given the input's, or `Same`.
struct Same {};
struct Real {};  // of a complex input
template <class R, class S>
struct ResultOf {
  using type = R;
};
template <class S>
struct ResultOf<Same, S> {
  using type = S;
};
template <class S>
struct ResultOf<Real, S> {
  using type = typename ScalarOf<S>::type;
};

// How maps take an operand: bfloat16 as it lies, what else is small by way of the computing type.
template <class S>
struct MappedOf {
  using type = Computed<S>;
  static constexpr Form form = Stored<S>::form;
};
template <>
struct MappedOf<bfloat16> {
  using type = Bf16;
  static constexpr Form form = Form::w2;
};
template <class S>
using Mapped = typename MappedOf<S>::type;
template <class S>
inline constexpr Form mapped_form = MappedOf<S>::form;

template <auto op, class S, class R>
inline constexpr Loop unary_loop =
    loop_of<map1<op, Mapped<R>, Mapped<S>>, 1, mapped_form<S>, mapped_form<R>>;
template <auto op, class S, class R>
inline constexpr Loop binary_loop = loop_of<map2<op, Mapped<R>, Mapped<S>, Mapped<S>>, 2,
                                            mapped_form<S>, mapped_form<S>, mapped_form<R>>;
template <auto op, class S>
inline constexpr Loop ternary_loop =
    loop_of<map3<op, Mapped<S>, Mapped<S>, Mapped<S>, Mapped<S>>, 3, mapped_form<S>, mapped_form<S>,
            mapped_form<S>, mapped_form<S>>;

// A table under construction. It remembers by itself which entries are set: under a sanitizer the
// compiler will not compare a function's address with null in a constant expression.
struct Draft {
  LoopTable table;
  uint32_t set = 0;
  consteval Draft& add(DType d, Loop loop) {
    table.by_dtype[static_cast<int>(d)] = loop;
    set |= 1u << static_cast<int>(d);
    return *this;
  }
  consteval operator LoopTable() const { return table; }
};

template <auto op, class R = Same, class... S>
consteval Draft unary(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>, unary_loop<op, S, typename ResultOf<R, S>::type>), ...);
  return t;
}
template <auto op, class R = Same, class... S>
consteval Draft binary(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>, binary_loop<op, S, typename ResultOf<R, S>::type>), ...);
  return t;
}
template <auto op, class... S>
consteval Draft ternary(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>, ternary_loop<op, S>), ...);
  return t;
}
// Both; a's where they overlap.
consteval Draft operator|(Draft a, Draft b) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (b.set & ~a.set & 1u << i) a.add(static_cast<DType>(i), b.table.by_dtype[i]);
  }
  return a;
}
// For ops whose bits do not depend on the sign: loops of unsigned types serve signed ones.
consteval Draft and_signed(Draft t) {
  t.add(DType::int8, t.table[DType::uint8]);
  t.add(DType::int16, t.table[DType::uint16]);
  t.add(DType::int32, t.table[DType::uint32]);
  t.add(DType::int64, t.table[DType::uint64]);
  return t;
}

}  // namespace argosy::cpu::ARGOSY_ISA
