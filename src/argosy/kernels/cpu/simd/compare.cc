#include "argosy/kernels/cpu/simd/map.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class T>
ARGOSY_INLINE bool truth(T a) {
  if constexpr (is_complex_v<T>) {
    return a.re != 0 || a.im != 0;
  } else {
    return a != T(0);
  }
}
template <class T>
ARGOSY_INLINE bool nan_in(T a) {
  if constexpr (is_complex_v<T>) {
    return (a.re != a.re) | (a.im != a.im);
  } else {
    return a != a;
  }
}
template <class T>
ARGOSY_INLINE bool finite(T a) {
  if constexpr (is_complex_v<T>) {
    return finite(a.re) & finite(a.im);
  } else if constexpr (is_float_v<T>) {
    return a - a == T(0);
  } else {
    return true;
  }
}
template <class T>
ARGOSY_INLINE bool infinite(T a) {
  if constexpr (is_complex_v<T>) {
    return infinite(a.re) | infinite(a.im);
  } else {
    return !finite(a) & (a == a);
  }
}

constexpr auto kEqual = [](auto a, auto b) {
  if constexpr (is_complex_v<decltype(a)>) {
    return (a.re == b.re) & (a.im == b.im);
  } else {
    return a == b;
  }
};
constexpr auto kNotEqual = [](auto a, auto b) { return !kEqual(a, b); };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kAnd = [](auto a, auto b) { return truth(a) & truth(b); };
constexpr auto kOr = [](auto a, auto b) { return truth(a) | truth(b); };
constexpr auto kXor = [](auto a, auto b) { return truth(a) ^ truth(b); };
constexpr auto kNot = [](auto a) { return !truth(a); };
constexpr auto kIsnan = [](auto a) { return nan_in(a); };
constexpr auto kIsinf = [](auto a) { return infinite(a); };
constexpr auto kIsfinite = [](auto a) { return finite(a); };

// A bool is stored as a byte of 0 or 1.
using Out = uint8_t;
constexpr Unsigned kUnsignedTypes;
constexpr Integers kIntegers;
constexpr Floats kFloats;
constexpr Complexes kComplexes;
constexpr Types<bool> kBools;

template <auto op>
consteval Draft ordered() {
  return binary<op, Out>(kIntegers) | binary<op, Out>(kFloats) | binary<op, Out>(kBools);
}
// a > b by the loop of b < a.
template <Loop loop>
void loop_swapped(char* const* ptrs, const int64_t* strides, int64_t n, const void* params) {
  char* const swapped[] = {ptrs[1], ptrs[0], ptrs[2]};
  const int64_t steps[] = {strides[1], strides[0], strides[2]};
  loop(swapped, steps, n, params);
}
template <auto op, class... S>
consteval Draft swapped(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>, loop_swapped<binary_loop<op, S, Out>>), ...);
  return t;
}
template <auto op>
consteval Draft ordered_swapped() {
  return swapped<op>(kIntegers) | swapped<op>(kFloats) | swapped<op>(kBools);
}
template <auto op>
consteval Draft unordered() {
  return and_signed(binary<op, Out>(kUnsignedTypes)) | binary<op, Out>(kFloats) |
         binary<op, Out>(kBools) | binary<op, Out>(kComplexes);
}
template <auto op>
consteval Draft predicate() {
  return and_signed(unary<op, Out>(kUnsignedTypes)) | unary<op, Out>(kFloats) |
         unary<op, Out>(kBools) | unary<op, Out>(kComplexes);
}

// Bools by the loops of bytes, which vectorize.
template <auto op>
consteval Draft inverted() {
  Draft t = predicate<op>();
  t.add(DType::bool_, t.table[DType::uint8]);
  return t;
}

constexpr CompareLoops kLoops = {
    .equal = unordered<kEqual>(),
    .not_equal = unordered<kNotEqual>(),
    .less = ordered<kLess>(),
    .less_equal = ordered<kLessEqual>(),
    .greater = ordered_swapped<kLess>(),
    .greater_equal = ordered_swapped<kLessEqual>(),
    .logical_and = unordered<kAnd>(),
    .logical_or = unordered<kOr>(),
    .logical_xor = unordered<kXor>(),
    .logical_not = inverted<kNot>(),
    .isnan = predicate<kIsnan>(),
    .isinf = predicate<kIsinf>(),
    .isfinite = predicate<kIsfinite>(),
};

}  // namespace

const CompareLoops compare_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
