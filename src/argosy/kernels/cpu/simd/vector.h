#pragma once

#include "argosy/kernels/cpu/simd/map.h"

// Vectors of the compiler (GCC's vector_size), for reductions: the compiler may not reorder a sum
// of floats by itself. Arithmetic, comparisons and ?: work elementwise.
namespace argosy::cpu::ARGOSY_ISA {

#ifdef __AVX512F__
inline constexpr int kVectorBytes = 64;
#else
inline constexpr int kVectorBytes = 32;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / sizeof(T);

template <class T>
ARGOSY_INLINE Vector<T> load(const T* p) {
  Vector<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
template <class T>
ARGOSY_INLINE Vector<T> splat(T value) {
  return value - Vector<T>{};
}

// How two partial results become one. Work on numbers and on vectors alike.
struct Add {
  static constexpr double kIdentity = 0;
  template <class V>
  ARGOSY_INLINE static V run(V a, V b) {
    return a + b;
  }
};
struct Multiply {
  static constexpr double kIdentity = 1;
  template <class V>
  ARGOSY_INLINE static V run(V a, V b) {
    return a * b;
  }
};
struct Max {
  static constexpr double kIdentity = -__builtin_inf();
  template <class V>
  ARGOSY_INLINE static V run(V a, V b) {
    V high = b > a ? b : a;
    return b != b ? b : high;
  }
};
struct Min {
  static constexpr double kIdentity = __builtin_inf();
  template <class V>
  ARGOSY_INLINE static V run(V a, V b) {
    V low = b < a ? b : a;
    return b != b ? b : low;
  }
};

// Four chains of vectors over n elements, then across the lanes in a fixed order.
template <class C, class R, class T>
ARGOSY_INLINE R combine_all(const T* x, int64_t n) {
  constexpr int kL = kLanes<T>;
  constexpr T kIdentity = static_cast<T>(C::kIdentity);
  Vector<T> a = splat(kIdentity), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * kL <= n; i += 4 * kL) {
    a = C::run(a, load(x + i));
    b = C::run(b, load(x + i + kL));
    c = C::run(c, load(x + i + 2 * kL));
    d = C::run(d, load(x + i + 3 * kL));
  }
  for (; i + kL <= n; i += kL) a = C::run(a, load(x + i));
  a = C::run(C::run(a, b), C::run(c, d));
  R result = static_cast<R>(C::kIdentity);
  for (; i < n; ++i) result = C::run(result, static_cast<R>(x[i]));
  for (int l = 0; l < kL; ++l) result = C::run(result, static_cast<R>(a[l]));
  return result;
}

// sum of f(i) over vectors of a row of type T: f(offset) gives a vector, last(i) one element. Four
// chains, added up in double every 64 vectors of each.
template <class T, class F, class L>
ARGOSY_INLINE double sum_all(int64_t n, F&& f, L&& last) {
  constexpr int kL = kLanes<T>;
  constexpr int64_t kBlock = 256 * kL;
  double total = 0;
  int64_t i = 0;
  while (i + kL <= n) {
    const int64_t end = n - i < kBlock ? n : i + kBlock;
    Vector<T> a{}, b{}, c{}, d{};
    for (; i + 4 * kL <= end; i += 4 * kL) {
      a += f(i);
      b += f(i + kL);
      c += f(i + 2 * kL);
      d += f(i + 3 * kL);
    }
    for (; i + kL <= end; i += kL) a += f(i);
    a = (a + b) + (c + d);
    T lanes = 0;
    for (int l = 0; l < kL; ++l) lanes += a[l];
    total += static_cast<double>(lanes);
  }
  for (; i < n; ++i) total += static_cast<double>(last(i));
  return total;
}

// A row as the computing type: itself, or widened into `room`.
template <class S>
ARGOSY_INLINE const Computed<S>* row_of(const void* x, int64_t n, Computed<S>* room) {
  if constexpr (std::is_same_v<S, float16>) {
    widen_f16(static_cast<const uint16_t*>(x), room, n);
    return room;
  } else if constexpr (std::is_same_v<S, bfloat16>) {
    widen_bf16(static_cast<const uint16_t*>(x), room, n);
    return room;
  } else {
    return static_cast<const S*>(x);
  }
}
// Where to put a result: itself, or `room`, from where `put` stores it.
template <class S>
ARGOSY_INLINE Computed<S>* target_of(void* y, Computed<S>* room) {
  if constexpr (std::is_same_v<S, Computed<S>>) {
    return static_cast<S*>(y);
  } else {
    return room;
  }
}
template <class S>
ARGOSY_INLINE void put(const Computed<S>* room, void* y, int64_t n) {
  if constexpr (std::is_same_v<S, float16>) narrow_f16(room, static_cast<uint16_t*>(y), n);
  if constexpr (std::is_same_v<S, bfloat16>) narrow_bf16(room, static_cast<uint16_t*>(y), n);
}

}  // namespace argosy::cpu::ARGOSY_ISA
