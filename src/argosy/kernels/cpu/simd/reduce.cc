#include "argosy/kernels/cpu/simd/reduce.h"

#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/vector.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

// Elements that one float32 accumulator chain may take before it goes into a double: about 64 a
// lane.
template <class T>
inline constexpr int kBlock = 64 * kLanes<T>;
constexpr int kTile = 256;  // columns at a time
constexpr int kFlush = 64;  // rows of float32 sums before they go into doubles

// ---- what is done with an element ----

struct Same {
  static constexpr bool kTrivial = true;
  template <class T>
  ARGOSY_INLINE static T run(T x, T) {
    return x;
  }
};
struct Square {
  static constexpr bool kTrivial = false;
  static constexpr bool kOnVectors = true;
  template <class T>
  ARGOSY_INLINE static T run(T x, T) {
    return x * x;
  }
};
struct Abs {
  static constexpr bool kTrivial = false;
  template <class T>
  ARGOSY_INLINE static T run(T x, T) {
    return abs_of(x);
  }
};
struct Nonzero {
  static constexpr bool kTrivial = false;
  template <class T>
  ARGOSY_INLINE static T run(T x, T) {
    return x != 0 ? T(1) : T(0);
  }
};
struct IfNumber {
  static constexpr bool kTrivial = false;
  static constexpr bool kOnVectors = true;
  template <class T>
  ARGOSY_INLINE static T run(T x, T) {
    return x == x ? x : T{};
  }
};
struct Centered {
  static constexpr bool kTrivial = false;
  static constexpr bool kTakesNumber = true;
  static constexpr bool kOnVectors = true;
  template <class T>
  ARGOSY_INLINE static T run(T x, T mean) {
    return (x - mean) * (x - mean);
  }
};
// Of several dozen instructions: a loop has one copy of them, in a pass of its own (kCostly).
struct Exp {
  static constexpr bool kTrivial = false;
  static constexpr bool kTakesNumber = true;
  static constexpr bool kCostly = true;
  template <class T>
  ARGOSY_INLINE static T run(T x, T shift) {
    return exp_of(x - shift);
  }
};
struct Power {
  static constexpr bool kTrivial = false;
  static constexpr bool kTakesNumber = true;
  static constexpr bool kCostly = true;
  ARGOSY_INLINE static float run(float x, float p) {
    return static_cast<float>(exp_core(double{p} * log_core(abs_of(double{x}))));
  }
  ARGOSY_INLINE static double run(double x, double p) { return __builtin_pow(abs_of(x), p); }
};

// ---- floating dtypes ----

// Items that are stored narrower than they are computed with are widened, a block at a time, by a
// function that is an argument: the loops of sums are compiled once for each computing type.
struct Items {
  void (*widen)(const uint16_t* in, float* out, int64_t n);  // null: they need not be
  int64_t size;                                              // of one, in bytes

  // n items at `stored`, there or in `room`.
  template <class T>
  ARGOSY_INLINE const T* get(const void* stored, T* room, int64_t n) const {
    if constexpr (std::is_same_v<T, float>) {
      if (widen) {
        widen(static_cast<const uint16_t*>(stored), room, n);
        return room;
      }
    }
    return static_cast<const T*>(stored);
  }
};
template <class S>
inline constexpr Items kItems{nullptr, sizeof(S)};
template <>
inline constexpr Items kItems<float16>{widen_f16, 2};
template <>
inline constexpr Items kItems<bfloat16>{widen_bf16, 2};
// Neither inlined nor copied for a constant argument: once is the purpose.
#define ARGOSY_ONCE [[gnu::noinline, gnu::noclone]]

template <class M>
concept OnVectors = M::kOnVectors;
template <class M>
concept Costly = M::kCostly;
template <class M>
concept TakesNumber = M::kTakesNumber;  // others are not told it

// The sum of M of n elements, in the order of combine_all.
template <class M, class T>
ARGOSY_INLINE double sum_mapped(const T* x, int64_t n, T p) {
  constexpr int kL = kLanes<T>;
  const Vector<T> wide = splat(p);
  Vector<T> a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * kL <= n; i += 4 * kL) {
    a += M::run(load(x + i), wide);
    b += M::run(load(x + i + kL), wide);
    c += M::run(load(x + i + 2 * kL), wide);
    d += M::run(load(x + i + 3 * kL), wide);
  }
  for (; i + kL <= n; i += kL) a += M::run(load(x + i), wide);
  if (n < kL) {
    double result = 0;
    for (; i < n; ++i) result += static_cast<double>(M::run(x[i], p));
    return result;
  }
  if (i < n) b += last_lanes<T>(M::run(load(x + n - kL), wide), n - i, Vector<T>{});
  return fold<Add, double>((a + b) + (c + d));
}

template <class C, class M, class T>
ARGOSY_ONCE void run_computed(const void* data, int64_t n, T p, double* acc, const Items& items) {
  const char* x = static_cast<const char*>(data);
  double total = *acc;
  T buffer[kBlock<T>];
  for (int64_t begin = 0; begin < n; begin += kBlock<T>) {
    const int64_t m = n - begin < kBlock<T> ? n - begin : kBlock<T>;
    const T* block = items.get(x + begin * items.size, buffer, m);
    if constexpr (OnVectors<M>) {
      total += sum_mapped<M>(block, m, p);
      continue;
    }
    if constexpr (!M::kTrivial) {
      for (int64_t i = 0; i < m; ++i) buffer[i] = M::run(block[i], p);
      block = buffer;
    }
    total = C::run(total, combine_all<C, double>(block, m));
  }
  *acc = total;
}
template <class C, class M, class S>
void run_floating(const void* data, int64_t n, double number, void* acc) {
  using T = Computed<S>;
  run_computed<C, M, T>(data, n, static_cast<T>(number), static_cast<double*>(acc), kItems<S>);
}

// Of columns_computed, what does not depend on what is done with an element.
template <class T>
ARGOSY_ONCE void numbers_as(const double* numbers, T* p, int64_t n) {
  for (int64_t j = 0; j < n; ++j) p[j] = numbers ? static_cast<T>(numbers[j]) : T(0);
}
template <class C, class T>
ARGOSY_ONCE void add_sums(T* sums, double* totals, int64_t n) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) totals[j] = C::run(totals[j], static_cast<double>(sums[j]));
}
template <class M, class T>
ARGOSY_ONCE void map_row(const T* x, const T* p, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) out[j] = M::run(x[j], p[j]);
}

template <class C, class M, class T>
ARGOSY_ONCE void columns_computed(const void* data, int64_t rows, int64_t row_bytes, int64_t width,
                                  const double* numbers, double* totals, const Items& items) {
  using Then = std::conditional_t<Costly<M>, Same, M>;
  constexpr T kIdentity = static_cast<T>(C::kIdentity);
  T sums[kTile], p[kTile], wide[4][kTile];
  for (int64_t c0 = 0; c0 < width; c0 += kTile) {
    const int64_t m = width - c0 < kTile ? width - c0 : kTile;
    const char* base = static_cast<const char*>(data) + c0 * items.size;
    if constexpr (TakesNumber<M>) numbers_as(numbers ? numbers + c0 : nullptr, p, m);
    auto number = [&](int64_t j) { return TakesNumber<M> ? p[j] : T(0); };
    auto row = [&](int64_t r, int slot) -> const T* {
      const T* x = items.get(base + r * row_bytes, wide[slot], m);
      if constexpr (!Costly<M>) return x;
      map_row<M>(x, p, wide[slot], m);
      return wide[slot];
    };
    for (int64_t r0 = 0; r0 < rows; r0 += kFlush) {
      const int64_t r1 = rows - r0 < kFlush ? rows : r0 + kFlush;
      for (int64_t j = 0; j < m; ++j) sums[j] = kIdentity;
      int64_t r = r0;
      for (; r + 4 <= r1; r += 4) {
        const T *x0 = row(r, 0), *x1 = row(r + 1, 1), *x2 = row(r + 2, 2), *x3 = row(r + 3, 3);
#pragma GCC ivdep
        for (int64_t j = 0; j < m; ++j) {
          T left = C::run(Then::run(x0[j], number(j)), Then::run(x1[j], number(j)));
          T right = C::run(Then::run(x2[j], number(j)), Then::run(x3[j], number(j)));
          sums[j] = C::run(sums[j], C::run(left, right));
        }
      }
      for (; r < r1; ++r) {
        const T* x = row(r, 0);
#pragma GCC ivdep
        for (int64_t j = 0; j < m; ++j) sums[j] = C::run(sums[j], Then::run(x[j], number(j)));
      }
      add_sums<C>(sums, totals + c0, m);
    }
  }
}
template <class C, class M, class S>
void columns_floating(const void* data, int64_t rows, int64_t row_bytes, int64_t width,
                      const double* numbers, void* acc) {
  columns_computed<C, M, Computed<S>>(data, rows, row_bytes, width, numbers,
                                      static_cast<double*>(acc), kItems<S>);
}

// ---- integers: any order gives the same result, so the compiler vectorizes ----

// A: int64_t or uint64_t.
struct IntegerSum {
  template <class A>
  ARGOSY_INLINE static A run(A a, A x) {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(x));
  }
};
struct IntegerProduct {
  template <class A>
  ARGOSY_INLINE static A run(A a, A x) {
    return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(x));
  }
};
struct IntegerCount {
  template <class A>
  ARGOSY_INLINE static A run(A a, A x) {
    return a + (x != 0);
  }
};
struct IntegerMax {
  template <class A>
  ARGOSY_INLINE static A run(A a, A x) {
    return x > a ? x : a;
  }
};
struct IntegerMin {
  template <class A>
  ARGOSY_INLINE static A run(A a, A x) {
    return x < a ? x : a;
  }
};

template <class T>
using Wide = std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>;

template <class C, class T>
void run_integer(const void* data, int64_t n, double, void* acc) {
  using A = Wide<T>;
  const T* x = static_cast<const T*>(data);
  A total = *static_cast<A*>(acc);
  if constexpr (std::is_same_v<C, IntegerMax> || std::is_same_v<C, IntegerMin>) {
    // In the narrow type: the accumulator starts at its limits, so one element goes first.
    if (n == 0) return;
    T best = x[0];
    for (int64_t i = 1; i < n; ++i) best = C::run(best, x[i]);
    total = C::run(total, static_cast<A>(best));
  } else {
    for (int64_t i = 0; i < n; ++i) total = C::run(total, static_cast<A>(x[i]));
  }
  *static_cast<A*>(acc) = total;
}

template <class C, class T>
void columns_integer(const void* data, int64_t rows, int64_t row_bytes, int64_t width,
                     const double*, void* acc) {
  using A = Wide<T>;
  A* totals = static_cast<A*>(acc);
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = reinterpret_cast<const T*>(static_cast<const char*>(data) + r * row_bytes);
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) totals[j] = C::run(totals[j], static_cast<A>(x[j]));
  }
}

// ---- positions of extremes ----

template <bool largest, class T>
ARGOSY_INLINE bool better(T x, T best) {
  if constexpr (is_float_v<T>) {
    return (largest ? x > best : x < best) | ((x != x) & (best == best));
  } else {
    return largest ? x > best : x < best;
  }
}

template <bool largest, class S>
int64_t arg_run(const void* data, int64_t n) {
  using T = Computed<S>;
  constexpr int kChunk = 512;
  using C = std::conditional_t<largest, Max, Min>;
  const char* x = static_cast<const char*>(data);
  T buffer[kChunk];
  // Blockwise: the extreme of a block by vectors, its place only if the block has a new best.
  T best{};
  int64_t at = -1;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t m = n - begin < kChunk ? n - begin : kChunk;
    const T* block = kItems<S>.get(x + begin * kItems<S>.size, buffer, m);
    T extreme;
    if constexpr (is_float_v<T>) {
      extreme = combine_all<C, T>(block, m);
    } else {
      extreme = block[0];
      for (int64_t i = 1; i < m; ++i)
        extreme = better<largest>(block[i], extreme) ? block[i] : extreme;
    }
    if (at >= 0 && !better<largest>(extreme, best)) continue;
    int64_t i = 0;
    if (extreme == extreme) {
      while (block[i] != extreme) ++i;
    } else {
      while (block[i] == block[i]) ++i;
    }
    best = extreme;
    at = begin + i;
    if (best != best) break;
  }
  return at;
}

template <bool largest, class S>
void arg_columns(const void* data, int64_t rows, int64_t row_bytes, int64_t width, int64_t* index) {
  using T = Computed<S>;
  T best[kArgColumns], wide[kArgColumns];
  int64_t at[kArgColumns];
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = kItems<S>.get(static_cast<const char*>(data) + r * row_bytes, wide, width);
    if (r == 0) {
      for (int64_t j = 0; j < width; ++j) best[j] = x[j], at[j] = 0;
      continue;
    }
    for (int64_t j = 0; j < width; ++j) {
      const bool takes = better<largest>(x[j], best[j]);
      best[j] = takes ? x[j] : best[j];
      at[j] = takes ? r : at[j];
    }
  }
  for (int64_t j = 0; j < width; ++j) index[j] = at[j];
}

// ---- the table ----

template <class S>
consteval void add_floating(ReduceKernels& k) {
  auto set = [&](Step step, ReduceRun run, ReduceColumns columns) {
    auto& e = k.steps[static_cast<int>(step)][static_cast<int>(dtype_id<S>)];
    e.run = run;
    e.columns = columns;
  };
  set(Step::sum, run_floating<Add, Same, S>, columns_floating<Add, Same, S>);
  set(Step::prod, run_floating<Multiply, Same, S>, columns_floating<Multiply, Same, S>);
  set(Step::max, run_floating<Max, Same, S>, columns_floating<Max, Same, S>);
  set(Step::min, run_floating<Min, Same, S>, columns_floating<Min, Same, S>);
  set(Step::squares, run_floating<Add, Square, S>, columns_floating<Add, Square, S>);
  set(Step::abs, run_floating<Add, Abs, S>, columns_floating<Add, Abs, S>);
  set(Step::nonzero, run_floating<Add, Nonzero, S>, columns_floating<Add, Nonzero, S>);
  set(Step::numbers, run_floating<Add, IfNumber, S>, columns_floating<Add, IfNumber, S>);
  set(Step::centered, run_floating<Add, Centered, S>, columns_floating<Add, Centered, S>);
  set(Step::exp, run_floating<Add, Exp, S>, columns_floating<Add, Exp, S>);
  set(Step::power, run_floating<Add, Power, S>, columns_floating<Add, Power, S>);
}
template <class S>
consteval void add_integer(ReduceKernels& k, DType dtype) {
  auto set = [&](Step step, ReduceRun run, ReduceColumns columns) {
    auto& e = k.steps[static_cast<int>(step)][static_cast<int>(dtype)];
    e.run = run;
    e.columns = columns;
  };
  set(Step::sum, run_integer<IntegerSum, S>, columns_integer<IntegerSum, S>);
  set(Step::prod, run_integer<IntegerProduct, S>, columns_integer<IntegerProduct, S>);
  set(Step::max, run_integer<IntegerMax, S>, columns_integer<IntegerMax, S>);
  set(Step::min, run_integer<IntegerMin, S>, columns_integer<IntegerMin, S>);
  set(Step::nonzero, run_integer<IntegerCount, S>, columns_integer<IntegerCount, S>);
}
template <class S>
consteval void add_arg(ReduceKernels& k, DType dtype) {
  k.arg[0][static_cast<int>(dtype)] = {arg_run<false, S>, arg_columns<false, S>};
  k.arg[1][static_cast<int>(dtype)] = {arg_run<true, S>, arg_columns<true, S>};
}
template <class... S>
consteval ReduceKernels make(Types<S...>) {
  ReduceKernels k{};
  (add_integer<S>(k, dtype_id<S>), ...);
  (add_arg<S>(k, dtype_id<S>), ...);
  add_integer<uint8_t>(k, DType::bool_);
  add_arg<uint8_t>(k, DType::bool_);
  add_floating<float16>(k);
  add_floating<bfloat16>(k);
  add_floating<float>(k);
  add_floating<double>(k);
  add_arg<float16>(k, DType::float16);
  add_arg<bfloat16>(k, DType::bfloat16);
  add_arg<float>(k, DType::float32);
  add_arg<double>(k, DType::float64);
  return k;
}

constexpr ReduceKernels kKernels = make(Integers{});

}  // namespace

const ReduceKernels reduce_kernels = kKernels;

}  // namespace argosy::cpu::ARGOSY_ISA
