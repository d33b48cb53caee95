#include "argosy/kernels/cpu/scan.h"

#include <algorithm>
#include <cmath>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kWork = 32768;
constexpr int64_t kTile = 64;  // columns at a time

// Calls body(first item, columns) for strips of up to kTile rows along n that lie side by side.
template <class F>
void for_strips(int64_t outer, int64_t n, int64_t inner, F&& body) {
  if (outer * n * inner == 0) return;
  const int64_t width = std::min(inner, kTile), tiles = (inner + width - 1) / width;
  parallel_for(outer * tiles, std::max<int64_t>(1, kWork / (n * width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % tiles * width;
                   body(i / tiles * n * inner + first, std::min(width, inner - first));
                 }
               });
}

// What a running sum or product is kept in.
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<float16> {
  using type = float;
};
template <>
struct AccumulatorOf<bfloat16> {
  using type = float;
};
template <>
struct AccumulatorOf<float> {
  using type = double;
};
template <>
struct AccumulatorOf<complex64> {
  using type = complex128;
};
// Integers wrap.
template <class T>
requires(std::is_integral_v<T>) struct AccumulatorOf<T> {
  using type = uint64_t;
};

struct Sum {
  template <class A>
  static A identity() {
    return A(0);
  }
  template <class A>
  static A run(A a, A x) {
    return a + x;
  }
};
struct Product {
  template <class A>
  static A identity() {
    return A(1);
  }
  template <class A>
  static A run(A a, A x) {
    if constexpr (std::is_same_v<A, complex128>) {
      return {a.real() * x.real() - a.imag() * x.imag(), a.real() * x.imag() + a.imag() * x.real()};
    } else {
      return a * x;
    }
  }
};

template <class T, class A>
T narrowed(A a) {
  if constexpr (std::is_same_v<A, float>) {
    return T(a);
  } else {
    return static_cast<T>(a);
  }
}

// `rows` contiguous rows at once: their chains of additions overlap.
template <class Op, int rows, class T>
void scan_rows(const T* x, T* y, int64_t n, bool exclusive, bool reverse) {
  using A = typename AccumulatorOf<T>::type;
  A acc[rows];
  for (int r = 0; r < rows; ++r) acc[r] = Op::template identity<A>();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = reverse ? n - 1 - i : i;
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const A next = Op::template run<A>(acc[r], static_cast<A>(x[r * n + at]));
      y[r * n + at] = narrowed<T>(exclusive ? acc[r] : next);
      acc[r] = next;
    }
  }
}

template <class Op, class T>
void scan_typed(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool exclusive,
                bool reverse) {
  using A = typename AccumulatorOf<T>::type;
  if (inner == 1 && n > 0) {
    const int64_t grain = std::max<int64_t>(4, kWork / n & ~int64_t{3});
    return parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
      int64_t r = begin;
      for (; r + 4 <= end; r += 4) {
        scan_rows<Op, 4>(x + r * n, y + r * n, n, exclusive, reverse);
      }
      for (; r < end; ++r) scan_rows<Op, 1>(x + r * n, y + r * n, n, exclusive, reverse);
    });
  }
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    A acc[kTile];
    std::fill_n(acc, width, Op::template identity<A>());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = start + (reverse ? n - 1 - i : i) * inner;
      for (int64_t j = 0; j < width; ++j) {
        const A next = Op::template run<A>(acc[j], static_cast<A>(x[at + j]));
        y[at + j] = narrowed<T>(exclusive ? acc[j] : next);
        acc[j] = next;
      }
    }
  });
}

template <class T>
void scan_logsumexp(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool exclusive,
                    bool reverse) {
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    for (int64_t j = 0; j < width; ++j) {
      // The sum so far is sum * exp(high).
      double high = -INFINITY, sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = start + (reverse ? n - 1 - i : i) * inner + j;
        const double v = static_cast<double>(x[at]);
        const double before = sum == 0 ? -INFINITY : high + std::log(sum);
        if (v > high || v != v) {
          sum = sum * std::exp(high - v) + 1;
          high = v;
        } else if (v > -INFINITY) {
          sum += v == high ? 1 : std::exp(v - high);
        }
        const double result = exclusive ? before : sum == 0 ? -INFINITY : high + std::log(sum);
        y[at] = narrowed<T>(static_cast<std::conditional_t<sizeof(T) == 2, float, double>>(result));
      }
    }
  });
}

template <class T>
bool is_nan(T v) {
  return v != v;
}

template <bool largest, class T, class I>
void scan_extreme_typed(const T* x, T* y, I* index, int64_t outer, int64_t n, int64_t inner) {
  for_strips(outer, n, inner, [&](int64_t start, int64_t width) {
    for (int64_t j = 0; j < width; ++j) {
      // Seldom a new one: the first comparison foretells that.
      T best = x[start + j];
      I at_best = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = start + i * inner + j;
        const T v = x[at];
        if (!(largest ? v < best : v > best) && (is_nan(v) || !is_nan(best))) {
          best = v;
          at_best = static_cast<I>(i);
        }
        y[at] = best;
        index[at] = at_best;
      }
    }
  });
}

}  // namespace

void scan(Scan kind, DType type, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
          bool exclusive, bool reverse) {
  auto run = [&]<class T>(T) {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    if (kind == Scan::sum) return scan_typed<Sum>(in, out, outer, n, inner, exclusive, reverse);
    if (kind == Scan::prod)
      return scan_typed<Product>(in, out, outer, n, inner, exclusive, reverse);
    if constexpr (is_floating(dtype_of<T>))
      scan_logsumexp(in, out, outer, n, inner, exclusive, reverse);
  };
  dispatch_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float16,
                 bfloat16, float, double, complex64, complex128>(type, run);
}

void scan_extreme(bool largest, DType type, const void* x, void* y, DType index_type, void* index,
                  int64_t outer, int64_t n, int64_t inner) {
  dispatch_real(type, [&]<class T>(T) {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    auto run = [&](auto* places) {
      if (largest) return scan_extreme_typed<true>(in, out, places, outer, n, inner);
      scan_extreme_typed<false>(in, out, places, outer, n, inner);
    };
    if (index_type == DType::int32) return run(static_cast<int32_t*>(index));
    run(static_cast<int64_t*>(index));
  });
}

}  // namespace argosy::cpu
