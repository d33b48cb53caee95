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

// The lanes of v as one value of type R, combined in halves: that is a tree of a few steps, where
// one lane after the other would be a chain of as many as there are.
template <class C, class R, class V>
ARGOSY_INLINE R fold(V v) {
  constexpr int kCount = sizeof(V) / sizeof(v[0]);
  using T = std::remove_cvref_t<decltype(v[0])>;
  if constexpr (kCount == 1) {
    return static_cast<R>(v[0]);
  } else {
    typedef T Half __attribute__((vector_size(sizeof(V) / 2)));
    typedef R WideHalf __attribute__((vector_size(sizeof(R) * kCount / 2)));
    Half low, high;
    if constexpr (kCount == 16) {
      low = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
      high = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    } else if constexpr (kCount == 8) {
      low = __builtin_shufflevector(v, v, 0, 1, 2, 3);
      high = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    } else if constexpr (kCount == 4) {
      low = __builtin_shufflevector(v, v, 0, 1);
      high = __builtin_shufflevector(v, v, 2, 3);
    } else {
      static_assert(kCount == 2);
      return C::run(static_cast<R>(v[0]), static_cast<R>(v[1]));
    }
    if constexpr (std::is_same_v<R, T>) {
      return fold<C, R>(C::run(low, high));
    } else {
      return fold<C, R>(
          C::run(__builtin_convertvector(low, WideHalf), __builtin_convertvector(high, WideHalf)));
    }
  }
}

// v, but `instead` in all lanes before the last `rest`.
template <class T>
ARGOSY_INLINE Vector<T> last_lanes(Vector<T> v, int64_t rest, Vector<T> instead) {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static_assert(sizeof(T) >= 4);
  static constexpr Index kOrder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load(kOrder) >= splat(static_cast<Index>(kLanes<T> - rest)) ? v : instead;
}

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
  if (n < kL) {
    R result = static_cast<R>(C::kIdentity);
    for (; i < n; ++i) result = C::run(result, static_cast<R>(x[i]));
    return result;
  }
  if (i < n) b = C::run(b, last_lanes<T>(load(x + n - kL), n - i, splat(kIdentity)));
  return fold<C, R>(C::run(C::run(a, b), C::run(c, d)));
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
    total += static_cast<double>(fold<Add, T>((a + b) + (c + d)));
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
